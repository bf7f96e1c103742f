//! Random runs of a quorum. `AUTO_MUTEX_SEED=n` repeats one, and `AUTO_MUTEX_RUNS=n` makes more.

use auto_mutex_explorer::quorum::run;

const RUNS: u64 = 100;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn a_majority_never_grants_too_much_and_everybody_gets_on() {
    let seeds = match number("AUTO_MUTEX_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("AUTO_MUTEX_RUNS").unwrap_or(RUNS),
    };
    for seed in seeds {
        let broken = run(seed).broken;
        assert!(broken.is_none(), "AUTO_MUTEX_SEED={seed}: {broken:?}");
    }
}
