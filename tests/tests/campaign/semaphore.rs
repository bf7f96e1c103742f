//! Contests for a semaphore of five permits: 64 tasks take one permit, or several, or all.

use auto_mutex_tests::real_time::real_time_for;
use auto_mutex_tests::witness::Verdict;

use crate::arena::{Arena, Plan, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

const PERMITS: u64 = 5;

/// Asserts that all permits were in use. Without this check, a semaphore that withholds permits would pass.
fn all_permits_were_in_use(verdict: &Verdict) {
    let usage = &verdict.usage["s"];
    assert_eq!(usage.most_units, PERMITS);
    assert!(usage.most_holders > 1, "{usage:?}");
}

#[test]
fn no_more_permits_are_in_use_than_there_are() {
    let mut arena = Arena::open(Plan::calm("semaphore", "semaphore:5", "s"));
    arena.watch_to_the_end();
    all_permits_were_in_use(&is_calm(&mut arena));
}

#[test]
fn permits_of_killed_and_suspended_processes_come_back_once() {
    let _watch = real_time_for(duration(6));
    let mut arena = Arena::open(Plan::with_faults("semaphore, kill", "semaphore:5", "s", 6));
    suspend_and_kill(&mut arena);
    all_permits_were_in_use(&survived(&mut arena));
}
