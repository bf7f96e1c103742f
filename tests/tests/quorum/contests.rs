//! Five processes contend for one name, and nothing is wrong with the servers.

use std::time::Duration;

use crate::ground::{Contest, Ground};

const CALM: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(3));

#[test]
fn five_processes_collide_and_all_get_on() {
    let mut ground = Ground::open("collide");
    let verdict = Contest::begin(&mut ground, "mutex", 1, CALM).end();
    assert_eq!(verdict.crowded, 0);
    assert!(
        verdict.longest_gap < Duration::from_secs(2),
        "{:?}",
        verdict.longest_gap
    );
}

#[test]
fn a_semaphore_never_gives_more_than_it_has() {
    let mut ground = Ground::open("permits");
    let verdict = Contest::begin(&mut ground, "semaphore:2", 1, CALM).end();
    assert_eq!(verdict.crowded, 0);
    assert_eq!(verdict.usage["suite:m"].most_units, 2);
}

#[test]
fn readers_and_writers_never_meet() {
    let mut ground = Ground::open("readers");
    let verdict = Contest::begin(&mut ground, "rw", 2, CALM).end();
    assert_eq!(verdict.crowded, 0);
    assert!(verdict.usage["suite:m"].most_holders > 1);
}
