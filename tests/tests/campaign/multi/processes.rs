//! Pairs of names between processes, on Redis.

use auto_mutex_tests::real_time::real_time_for;

use crate::arena::{Arena, Plan, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

#[test]
fn pairs_in_any_order_never_wait_for_each_other() {
    let mut arena = Arena::open(Plan::calm("multi", "multi:50", "m"));
    arena.watch_to_the_end();
    let verdict = is_calm(&mut arena);
    // The names are drawn at random, so a few turns do not use all of them.
    let used = verdict.usage.len();
    assert!((26..=50).contains(&used), "{:?}", verdict.usage.keys());
}

#[test]
fn killed_and_suspended_processes_leave_none_of_their_locks() {
    let _watch = real_time_for(duration(6));
    let mut arena = Arena::open(Plan::with_faults("multi, kill", "multi:50", "m", 6));
    suspend_and_kill(&mut arena);
    survived(&mut arena);
}
