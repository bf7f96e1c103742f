//! Pairs of names between processes, on Redis.

use std::time::Duration;

use crate::arena::{Arena, Plan, alone, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

fn open(what: &'static str, lease: u64, duration: Duration) -> Arena {
    Arena::open(Plan {
        what,
        kind: "multi:50",
        name: "m",
        lease: Duration::from_secs(lease),
        duration,
    })
}

#[test]
fn pairs_in_any_order_never_wait_for_each_other() {
    let _alone = alone();
    let mut arena = open("multi", 10, duration(2));
    arena.watch_to_the_end();
    let verdict = is_calm(&mut arena);
    // The names are drawn at random, so a few turns do not use all of them.
    let used = verdict.usage.len();
    assert!((26..=50).contains(&used), "{:?}", verdict.usage.keys());
}

#[test]
fn killed_and_suspended_processes_leave_none_of_their_locks() {
    let _alone = alone();
    let mut arena = open("multi, kill", 2, duration(6));
    suspend_and_kill(&mut arena);
    survived(&mut arena);
}
