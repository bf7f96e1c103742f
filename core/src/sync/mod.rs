//! Synchronization and randomness: normally those of the standard library.
//!
//! With `--cfg shuttle`, this module exports those of shuttle, a tester that chooses the next thread at each
//! synchronization and tries one schedule after another (`tests/interleavings`, `queue/interleavings`). State that
//! outlives a schedule, such as a `static`, always uses the standard library.

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

/// Under shuttle, returns random bytes that a replay of the schedule repeats. Otherwise returns `None`, and the caller uses
/// random bytes of the system.
#[cfg(not(all(test, shuttle)))]
pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    None
}
