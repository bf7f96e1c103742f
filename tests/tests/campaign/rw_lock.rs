//! Contests for a readers-writer lock, with three readers to one writer. Some writers continue as readers.

use std::time::Duration;

use auto_mutex_tests::witness::Verdict;

use crate::arena::{Arena, Plan, alone, duration};
use crate::judge::{is_calm, survived, suspend_and_kill};

fn open(what: &'static str, lease: u64, duration: Duration) -> Arena {
    Arena::open(Plan {
        what,
        kind: "rw",
        name: "l",
        lease: Duration::from_secs(lease),
        duration,
    })
}

fn readers_were_in_together(verdict: &Verdict) {
    let usage = &verdict.usage["l"];
    assert!(usage.most_holders > 1, "{usage:?}");
}

#[test]
fn no_writer_is_inside_beside_a_reader() {
    let _alone = alone();
    let mut arena = open("rw lock", 10, duration(2));
    arena.watch_to_the_end();
    readers_were_in_together(&is_calm(&mut arena));
}

#[test]
fn killed_and_suspended_readers_and_writers_let_the_others_in() {
    let _alone = alone();
    let mut arena = open("rw lock, kill", 2, duration(6));
    suspend_and_kill(&mut arena);
    readers_were_in_together(&survived(&mut arena));
}
