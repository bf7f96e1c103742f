//! The local queue under a hostile network: many members and one name, in a [`World`]. The seed decides the order of
//! requests, replies, messages, broken connections, late copies, cancels, suspensions and crashes. It also decides
//! whether the name is a mutex, a semaphore with signals, or a readers-writer lock.
//!
//! At every grant:
//! - the holds that are valid by their members' own clocks fit into the capacity;
//! - the fencing token is greater than those before;
//! - no other ticket holds the same signal.
//!
//! At the end:
//! - every waiter is served, immediately if no member died;
//! - no signal is lost, and nothing is left in the store;
//! - every caller that waits for the result of an unlock or a renewal gets a correct one.
//!
//! If messages are merely reordered, no hold is lost, and no other ticket is granted before an `at_least` is over.
//!
//! `AUTO_MUTEX_SEED=n cargo test -p auto-mutex-core --lib simulation` replays one run; `AUTO_MUTEX_RUNS=n` makes more.

mod call;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use self::run::Run;
use crate::test_kit::{self, Runs};

/// The results of several runs.
#[derive(Debug, Default)]
struct Tally {
    served: AtomicU32,
    handed: AtomicU32,
    lost: AtomicU32,
}

fn runs(calm: bool) -> Arc<Tally> {
    let number = std::env::var("AUTO_MUTEX_RUNS");
    let seeds = number.map_or(240, |number| number.parse().unwrap());
    let tally = Arc::new(Tally::default());
    test_kit::run(Runs::new().seeds(seeds), |world| {
        Arc::new(Run::new(world, calm, tally.clone())).all()
    });
    println!("{tally:?}");
    let counted = |count: &AtomicU32| count.load(Ordering::Relaxed) > 0;
    assert!(
        counted(&tally.served) && counted(&tally.handed),
        "{tally:?}"
    );
    tally
}

#[test]
fn whatever_the_network_does_one_holds_and_all_are_served() {
    runs(false);
}

#[test]
fn whatever_the_order_nothing_is_lost() {
    runs(true);
}
