//! Synchronization and randomness: from the standard library or, with `--cfg shuttle`, from shuttle, which tries one
//! schedule after another. A `static` outlives a schedule, and always uses the standard library.

#[cfg(all(test, shuttle))]
pub use shuttle::sync::Mutex;
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Condvar, MutexGuard, PoisonError, atomic};

#[cfg(not(any(feature = "test-util", all(test, shuttle))))]
pub(crate) use std::hash::RandomState;
#[cfg(not(all(test, shuttle)))]
pub use std::sync::Mutex;
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Condvar, MutexGuard, PoisonError, atomic};

/// Makes two names share a shard in every run or in none.
#[cfg(any(feature = "test-util", all(test, shuttle)))]
pub(crate) type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// Under shuttle, random bytes that are the same when the schedule is replayed.
pub(crate) fn chosen_bytes() -> Option<[u8; 16]> {
    #[cfg(all(test, shuttle))]
    return Some(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
    #[cfg(not(all(test, shuttle)))]
    None
}
