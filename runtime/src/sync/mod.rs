//! What threads meet at, and what chance decides: the means of the standard library.
//!
//! With `--cfg shuttle` those of shuttle, a tester that chooses who runs next at each of them, and tries one schedule
//! after another (`tests/interleavings`, `queue/interleavings`). Whatever lives longer than one such schedule, a `static`
//! for example, uses the standard library always.

#[cfg(shuttle)]
mod scheduled;

#[cfg(shuttle)]
pub(crate) use self::scheduled::{RandomState, chosen_bytes};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

#[cfg(not(shuttle))]
pub(crate) use std::hash::RandomState;
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Bytes that only a replay may repeat; `None`: take those of the system.
#[cfg(not(shuttle))]
pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    None
}
