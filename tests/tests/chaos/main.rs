//! Every fault against every lock: real processes in a contest before a real server, under the eyes of the witness, while
//! something breaks, again and again. Judged is what holds (see `judge.rs`); how long it takes to get on again is recorded, not judged.
//! `tests/chaos` runs it and prints the table.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_CHAOS_ROUNDS` | how often each fault strikes each lock: 2 |
//! | `AUTO_MUTEX_CHAOS_ONLY` | faults, or locks, or both, by a part of `FAULT/LOCK`: `CLIENT KILL/mutex,OOM` |
//! | `AUTO_MUTEX_CHAOS_TABLE` | the file for the table (Markdown), and with `.tsv` behind it for the figures |
//! | `AUTO_MUTEX_CHAOS_THREADS` | how many contests run side by side |
//! | `AUTO_MUTEX_SEED` | the choices, as printed at the start, to repeat them |

mod faults;
mod field;
mod judge;
mod locks;
mod matrix;
mod needs;
mod recovery;
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
