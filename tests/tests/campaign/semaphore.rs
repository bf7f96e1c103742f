//! Contests for a semaphore of five permits: 64 tasks take one permit, or several, or all.

use std::time::Duration;

use auto_mutex_tests::witness::Verdict;

use crate::arena::{Arena, Plan, alone, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

const PERMITS: u64 = 5;

fn open(what: &'static str, lease: u64, duration: Duration) -> Arena {
    Arena::open(Plan {
        what,
        kind: "semaphore:5",
        name: "s",
        lease: Duration::from_secs(lease),
        duration,
    })
}

/// Asserts that all permits were in use. Without this check, a semaphore that withholds permits would pass.
fn all_permits_were_in_use(verdict: &Verdict) {
    let usage = &verdict.usage["s"];
    assert_eq!(usage.most_units, PERMITS);
    assert!(usage.most_holders > 1, "{usage:?}");
}

#[test]
fn no_more_permits_are_in_use_than_there_are() {
    let _alone = alone();
    let mut arena = open("semaphore", 10, duration(2));
    arena.watch_to_the_end();
    all_permits_were_in_use(&is_calm(&mut arena));
}

#[test]
fn permits_of_killed_and_suspended_processes_come_back_once() {
    let _alone = alone();
    let mut arena = open("semaphore, kill", 2, duration(6));
    suspend_and_kill(&mut arena);
    all_permits_were_in_use(&survived(&mut arena));
}
