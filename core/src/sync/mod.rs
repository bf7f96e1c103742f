//! Synchronization and randomness: of the standard library; with `--cfg shuttle`, of shuttle, which tries one schedule
//! after another. A `static`, which outlives a schedule, always uses the standard library.

#[cfg(all(test, shuttle))]
mod scheduled;

#[cfg(all(test, shuttle))]
pub(crate) use self::scheduled::{RandomState, chosen_bytes};
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

#[cfg(not(all(test, shuttle)))]
pub(crate) use std::hash::RandomState;
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Under shuttle, bytes that a replay of the schedule repeats.
#[cfg(not(all(test, shuttle)))]
pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    None
}
