//! Histories of real processes under faults. The search must find an order that explains them: see `tests/src/history`.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_HISTORY_SECONDS` | how long each test lasts |
//! | `AUTO_MUTEX_SEED` | the faults, as printed at the start of a run |

mod field;
mod ground;
mod seeded;
mod verdict;

use std::time::Duration;

use auto_mutex_tests::databases::missing_postgres;
use field::{Field, Plan, alone};
use ground::Ground;
use verdict::is_explained;

/// The default duration of each test, in seconds.
const SHORT: u64 = 10;

fn seconds() -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_HISTORY_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(SHORT))
}

/// Runs a contest under faults, and checks its history. Returns the number of calls that failed in order to end a deadlock.
fn survives(test: &'static str, kind: &'static str, ground: fn() -> Ground) -> u64 {
    survives_for(seconds(), test, kind, ground)
}

fn survives_for(
    duration: Duration,
    test: &'static str,
    kind: &'static str,
    ground: fn() -> Ground,
) -> u64 {
    let _alone = alone();
    let plan = Plan {
        test,
        kind,
        duration,
    };
    let mut field = Field::open(plan, ground());
    while !field.is_over() {
        field.trouble();
    }
    is_explained(&mut field);
    field.deadlocks
}

#[test]
fn a_mutex_under_faults() {
    survives("a_mutex_under_faults", "mutex", Ground::single);
}

#[test]
fn a_kept_mutex_under_faults() {
    let test = "a_kept_mutex_under_faults";
    survives_for(seconds() / 2, test, "kept:4", Ground::single);
}

/// Half as long as on Redis, if PostgreSQL is installed.
fn survives_on_postgres(test: &'static str, kind: &'static str) {
    match missing_postgres() {
        Some(missing) => println!("SKIPPED: {test}: {missing}"),
        None => {
            survives_for(seconds() / 2, test, kind, Ground::postgres);
        }
    }
}

#[test]
fn a_mutex_on_postgresql_under_faults() {
    survives_on_postgres("a_mutex_on_postgresql_under_faults", "mutex");
}

#[test]
fn a_readers_writer_lock_on_postgresql_under_faults() {
    let test = "a_readers_writer_lock_on_postgresql_under_faults";
    survives_on_postgres(test, "rw");
}

#[test]
fn a_semaphore_under_faults() {
    survives("a_semaphore_under_faults", "semaphore:3", Ground::single);
}

#[test]
fn a_readers_writer_lock_under_faults() {
    survives("a_readers_writer_lock_under_faults", "rw", Ground::single);
}

#[test]
fn a_mutex_of_a_quorum_under_faults() {
    survives("a_mutex_of_a_quorum_under_faults", "mutex", Ground::quorum);
}

/// Tasks hold one of four mutexes and wait for another. In each deadlock, one task fails and the others continue.
fn survives_deadlocks(test: &'static str, ground: fn() -> Ground) {
    let deadlocks = survives(test, "crossed:4", ground);
    println!("{test}: {deadlocks} calls failed to end a deadlock");
    assert!(deadlocks > 0, "there was no deadlock");
}

#[test]
fn crossed_mutexes_under_faults() {
    survives_deadlocks("crossed_mutexes_under_faults", Ground::single);
}

#[test]
fn crossed_mutexes_of_a_quorum_under_faults() {
    survives_deadlocks("crossed_mutexes_of_a_quorum_under_faults", Ground::quorum);
}

#[test]
fn a_readers_writer_lock_of_a_quorum_under_faults() {
    survives(
        "a_readers_writer_lock_of_a_quorum_under_faults",
        "rw",
        Ground::quorum,
    );
}
