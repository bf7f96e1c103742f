//! Every fault against every kind of lock: real processes use a lock of a real server, and a witness watches them while
//! a fault happens repeatedly. The tests assert the promises (see `judge.rs`), and record how long each recovery takes,
//! without setting a goal for it. `tests/chaos` runs them and prints the table.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_CHAOS_ROUNDS` | how often each fault strikes each lock. Without it, each fault strikes once, on one lock or two that the seed chooses, and some not at all |
//! | `AUTO_MUTEX_CHAOS_ONLY` | the combinations to try, each by a part of `FAULT/LOCK`: `CLIENT KILL/mutex,OOM`, or `PostgreSQL` |
//! | `AUTO_MUTEX_CHAOS_TABLE` | the file to which the tables (Markdown) are appended |
//! | `AUTO_MUTEX_CHAOS_FULL_QUEUE` | to fill PostgreSQL's queue of notifications, too, which writes 8 GB |
//! | `AUTO_MUTEX_SEED` | the random choices, as printed at the start, to repeat them |

mod faults;
mod field;
mod judge;
mod locks;
mod matrix;
mod needs;
mod recovery;
mod server;
mod table;

use auto_mutex_tests::real_time::real_time;

/// Makes a test of each line, for the faults of the expression.
macro_rules! no_fault_breaks_a_lock {
    ($($test:ident: $faults:expr;)+) => {$(
        #[test]
        fn $test() {
            let _watch = matrix::rounds().is_none().then(real_time);
            matrix::survive(stringify!($test), $faults);
        }
    )+};
}

no_fault_breaks_a_lock! {
    processes: faults::processes::all();
    deadlocks: vec![faults::deadlocks::crossed()];
    links: faults::links::all();
    bytes: faults::bytes::all();
    commands: faults::commands::all();
    restarts: faults::restarts::all();
    refusals: faults::refusals::all();
    clocks: faults::clock::all();
    postgresql: faults::postgres::all();
    standbys_and_poolers_of_postgresql: faults::postgres::of_layouts();
}
