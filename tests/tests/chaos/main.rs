//! Every fault against every kind of lock: real processes use a lock of a real server, and a witness watches them while
//! a fault happens repeatedly. The test asserts the promises (see `judge.rs`), and records how long each recovery
//! takes, without setting a goal for it. `tests/chaos` runs the test and prints the table.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_CHAOS_ROUNDS` | how often each fault strikes each lock; the default is 2. With 1, PostgreSQL has only a sample |
//! | `AUTO_MUTEX_CHAOS_ONLY` | the combinations to try, each by a part of `FAULT/LOCK`: `CLIENT KILL/mutex,OOM`, or `PostgreSQL` |
//! | `AUTO_MUTEX_CHAOS_TABLE` | the file for the table (Markdown); the figures go to a file with `.tsv` appended to this name |
//! | `AUTO_MUTEX_CHAOS_THREADS` | how many contests run in parallel |
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

use auto_mutex_tests::seed::Seed;

#[test]
fn no_fault_breaks_a_lock() {
    let mut seed = Seed::announce("chaos");
    let cells = matrix::run(&mut seed);
    let table = table::markdown(&cells);
    println!("{table}");
    if let Ok(file) = std::env::var("AUTO_MUTEX_CHAOS_TABLE") {
        std::fs::write(&file, &table).expect("the table is written");
        std::fs::write(format!("{file}.tsv"), table::tsv(&cells)).expect("the figures are written");
    }
    let wrong: Vec<_> = cells.iter().filter(|cell| cell.is_wrong()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
