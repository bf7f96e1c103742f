//! Small quorums, in every state, and random runs. `AUTO_MUTEX_SEED=n` repeats one, `AUTO_MUTEX_RUNS=n` makes more, and both make more from there.

use auto_mutex_explorer::quorum::run;
use auto_mutex_explorer::quorum::small::Small;

use super::holds;

const RUNS: u64 = 100;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn a_majority_never_grants_too_much_and_everybody_gets_on() {
    let seed = number("AUTO_MUTEX_SEED");
    let runs = number("AUTO_MUTEX_RUNS").unwrap_or(if seed.is_some() { 1 } else { RUNS });
    let first = seed.unwrap_or(1);
    for seed in first..first + runs {
        let broken = run(seed).broken;
        assert!(broken.is_none(), "AUTO_MUTEX_SEED={seed}: {broken:?}");
    }
}

const TWO: Small = Small {
    members: 2,
    nodes: 3,
    breaks: 0,
    timers: 0,
    renews: false,
    prompt: true,
};

#[test]
fn one_of_two_members_holds() {
    holds("one_of_two_members_holds", TWO);
}

#[test]
fn one_of_two_members_holds_although_a_connection_breaks() {
    holds(
        "one_of_two_members_holds_although_a_connection_breaks",
        Small { breaks: 1, ..TWO },
    );
}

#[test]
fn one_of_two_members_holds_and_renews() {
    holds(
        "one_of_two_members_holds_and_renews",
        Small {
            renews: true,
            ..TWO
        },
    );
}

#[test]
fn one_of_two_members_holds_whenever_a_timer_runs() {
    holds(
        "one_of_two_members_holds_whenever_a_timer_runs",
        Small { timers: 1, ..TWO },
    );
}
