//! The memory store beside the store of the checked model (`model/src/store`): the same requests at the same times, and after
//! each one the same reply, the same messages and the same state. So what the checker shows of the one is true of the other.
//!
//! What stands for what:
//!
//! | model | memory store |
//! |---|---|
//! | a tick | so long that [`CLAIM_MS`] is as many of them as the model's `claim` |
//! | `lease`, `place` | `hold_ms` and `place_ms` of every request |
//! | `tomb` | [`TOMBSTONE_MS`], in ticks |
//! | `closed`, of the store or of the member that takes it for closed | `opens` of the operation |
//! | a member that listens | one whose messages arrive |
//! | a token | the fencing time that was given with it; which tokens are the same, and which are greater |
//! | a counter, a place in the list of records | the same; the order of the places |
//! | `Left` | `RELEASED` if the ticket held, else `CANCELLED`; with what is free by the model's records |
//! | `Queued` | the position, the holder and the time to the next touch, as they follow from the model's records |
//! | a restart, a failover | an empty store, the copy that the replica has; and a tick, so that the clock is beyond all tokens |
//! | a step back | an hour |
//!
//! What the model has not is never asked for here: `try`, several units, signals, owners, parked tickets, `adopt`, `force`,
//! `refresh`, `raise`, `delete`. The scripts and the memory store are compared in these (`store/redis/tests/difference`).
//!
//! `AUTO_MUTEX_RUNS=n` makes n walks; `AUTO_MUTEX_SEED=s` only the one that failed.

mod breadth;
mod of_memory;
mod of_model;
mod seeded;
mod twin;
mod view;
mod walk;
mod words;

use auto_mutex_model::runs::{Size, holding};
use auto_mutex_model::store;

use crate::store::limits::NEAR;

/// Walks of a short run.
const WALKS: u64 = 2000;
/// States of each run of the model that are looked at for each walk.
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
        if run.size == Size::Large {
            continue;
        }
        steps += breadth::explore(&run, walks() * STATES_PER_WALK);
    }
    println!("{steps} steps");
}

#[test]
fn both_count_the_same_waiters_as_the_first() {
    assert_eq!(store::NEAR, NEAR);
}
