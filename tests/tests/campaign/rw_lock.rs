//! Contests for a readers-writer lock, with three readers to one writer. Some writers continue as readers.

use auto_mutex_tests::real_time::real_time_for;
use auto_mutex_tests::witness::Verdict;

use crate::arena::{Arena, Plan, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

fn readers_were_in_together(verdict: &Verdict) {
    let usage = &verdict.usage["l"];
    assert!(usage.most_holders > 1, "{usage:?}");
}

#[test]
fn no_writer_is_inside_beside_a_reader() {
    let mut arena = Arena::open(Plan::calm("rw lock", "rw", "l"));
    arena.watch_to_the_end();
    readers_were_in_together(&is_calm(&mut arena));
}

#[test]
fn killed_and_suspended_readers_and_writers_let_the_others_in() {
    let _watch = real_time_for(duration(6));
    let mut arena = Arena::open(Plan::with_faults("rw lock, kill", "rw", "l", 6));
    suspend_and_kill(&mut arena);
    readers_were_in_together(&survived(&mut arena));
}
