//! Compares the memory store with the store of the checked model (`model/src/store`). Both get the same requests at the
//! same times, and must give the same replies, messages and states. The properties that the checker has shown for the
//! model thus hold for the memory store, too.
//!
//! How the model corresponds to the memory store:
//!
//! | model | memory store |
//! |---|---|
//! | a tick | [`Limits::claim`](crate::Limits), divided by the model's `claim` |
//! | `lease`, `place` | `hold_ms` and `place_ms` of every other request |
//! | `tomb` | [`Limits::tombstone`](crate::Limits), in ticks |
//! | `closed` of the store, or of the member that considers it closed | `grants_from` of the operation |
//! | `retain`, the lease of a lock that is kept | `hold_ms` of a request with a short lease |
//! | a member that listens | a member whose messages arrive |
//! | a token | the token of the same grant; the tokens of both stores must be in the same order |
//! | a counter, a place in the list of records | the same counter, the order of the places |
//! | `Left` | `CANCELLED`; if the ticket held: `RELEASED`, with the units that are free according to the model's records |
//! | `Queued` | the position, the holder and the time to the next touch, as they follow from the model's records |
//! | a restart, a failover | an empty store, the copy of the replica; then a tick, so that the clock is ahead of all tokens |
//! | a step back | an hour |
//!
//! These tests skip the operations that the model lacks: `try`, several units, signals, parked tickets,
//! `adopt`, `force`, `raise`, `delete`. For these, other tests compare the scripts with the memory store
//! (`stores/redis/src/tests/difference`).
//!
//! `AUTO_MUTEX_RUNS=n` makes n walks; `AUTO_MUTEX_SEED=s` repeats only the walk that failed.

mod breadth;
mod bytes;
mod of_memory;
mod of_model;
mod seeded;
mod twin;
mod view;
mod walk;
mod words;

use auto_mutex_model::runs::{Size, holding};
use auto_mutex_model::store;

use crate::LIMITS;

/// The number of walks if `AUTO_MUTEX_RUNS` is not set.
const WALKS: u64 = 2000;
/// For each walk, this many states of each run of the model are explored.
const STATES_PER_WALK: u64 = 1;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

fn walks() -> u64 {
    number("AUTO_MUTEX_RUNS").unwrap_or(WALKS)
}

#[test]
fn the_memory_store_does_what_the_checked_model_does() {
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        return walk::must_agree(seed);
    }
    (1..=walks()).for_each(walk::must_agree);
}

#[test]
fn it_does_so_in_every_state_of_the_small_runs() {
    let mut steps = 0;
    for run in holding() {
        // The memory store grants to more waiters at a time.
        if run.size == Size::Large || usize::from(run.rules.batch) < LIMITS.batch {
            continue;
        }
        steps += breadth::explore(&run, walks() * STATES_PER_WALK);
    }
    println!("{steps} steps");
}

#[test]
fn both_count_the_same_waiters_as_the_first() {
    assert_eq!(store::NEAR, LIMITS.near);
}
