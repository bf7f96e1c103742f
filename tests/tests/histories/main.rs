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
use auto_mutex_tests::real_time::real_time_for;
use field::{Field, Plan};
use ground::Ground;
use verdict::is_explained;

/// The default duration of each test, in seconds.
const SHORT: u64 = 5;

fn seconds() -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_HISTORY_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(SHORT))
}

/// Runs a contest under faults, and checks its history. Returns the number of calls that failed in order to end a
/// deadlock.
fn survives(test: &'static str, kind: &'static str, ground: Ground) -> u64 {
    let plan = Plan {
        test,
        kind,
        duration: seconds(),
    };
    let mut field = Field::open(plan, ground);
    while !field.is_over() {
        field.trouble();
    }
    is_explained(&mut field);
    field.deadlocks
}

fn survives_on_postgres(test: &'static str, kind: &'static str) {
    match missing_postgres() {
        Some(missing) => println!("SKIPPED: {test}: {missing}"),
        None => drop(survives(test, kind, Ground::postgres())),
    }
}

/// Tasks hold one of three mutexes and wait for another. In each deadlock, one task fails and the others continue.
fn survives_deadlocks(test: &'static str, ground: Ground) {
    let deadlocks = survives(test, "crossed:3", ground);
    println!("{test}: {deadlocks} calls failed to end a deadlock");
    assert!(deadlocks > 0, "there was no deadlock");
}

/// Makes a test of each line: its name is also printed, with the seed.
macro_rules! tests {
    ($($test:ident: $survives:ident($($argument:expr),*);)+) => {$(
        #[test]
        fn $test() {
            let _watch = real_time_for(seconds());
            $survives(stringify!($test), $($argument),*);
        }
    )+};
}

tests! {
    a_mutex_under_faults: survives("mutex", Ground::single());
    a_kept_mutex_under_faults: survives("kept:4", Ground::single());
    a_mutex_on_postgresql_under_faults: survives_on_postgres("mutex");
    a_readers_writer_lock_on_postgresql_under_faults: survives_on_postgres("rw");
    a_semaphore_under_faults: survives("semaphore:3", Ground::single());
    a_readers_writer_lock_under_faults: survives("rw", Ground::single());
    a_mutex_of_a_quorum_under_faults: survives("mutex", Ground::quorum());
    crossed_mutexes_under_faults: survives_deadlocks(Ground::single());
}
