//! Members and nodes on a virtual clock, with an unreliable network, differing node clocks, and a stranger who sends
//! messages. The nodes are memory stores; the members run the library's code. The test checks that there are never too many holders, that tokens grow,
//! and that members make progress. `AUTO_MUTEX_SEED` repeats a run, and `AUTO_MUTEX_RUNS` makes more.

mod judge;
mod leftovers;
mod network;
mod user;
mod world;

use self::world::World;

const RUNS: u64 = 4;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn a_majority_never_grants_too_much_and_everybody_gets_on() {
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        return World::new(seed).run();
    }
    for seed in 1..=number("AUTO_MUTEX_RUNS").unwrap_or(RUNS) {
        let run = std::panic::catch_unwind(|| World::new(seed).run());
        assert!(run.is_ok(), "AUTO_MUTEX_SEED={seed} repeats it");
    }
}
