//! Synchronization and randomness: of the standard library; with `--cfg shuttle`, of shuttle, which tries one schedule
//! after another. A `static`, which outlives a schedule, always uses the standard library.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

#[cfg(not(all(test, shuttle)))]
pub(crate) use std::hash::RandomState;
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Two names that share a shard share it in every run.
#[cfg(all(test, shuttle))]
pub(crate) type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// Under shuttle, bytes that a replay of the schedule repeats.
pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    #[cfg(all(test, shuttle))]
    return Some(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
    #[cfg(not(all(test, shuttle)))]
    None
}
