//! Small quorums, in every state, and random runs. `AUTO_MUTEX_SEED=n` repeats one, `AUTO_MUTEX_RUNS=n` makes more, and
//! both make more from there.

use auto_mutex_explorer::quorum::small::Small;
use auto_mutex_explorer::quorum::{notifications, run};

use super::{holds, seeds};

#[test]
fn a_majority_never_grants_too_much_and_everybody_gets_on() {
    for seed in seeds(100) {
        let broken = run(seed).broken;
        assert!(broken.is_none(), "AUTO_MUTEX_SEED={seed}: {broken:?}");
    }
}

#[test]
fn everybody_is_notified_by_a_majority() {
    for seed in seeds(20) {
        let broken = notifications(seed).broken;
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
