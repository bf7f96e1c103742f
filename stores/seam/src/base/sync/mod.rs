//! Synchronization and randomness: from the standard library or, with `--cfg shuttle`, from shuttle, which tries one
//! schedule after another. A `static` outlives a schedule, and always uses the standard library.

#[cfg(shuttle)]
pub use shuttle::sync::Mutex;
#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, MutexGuard, PoisonError, atomic};

#[cfg(not(any(feature = "test-util", shuttle)))]
pub use std::hash::RandomState;
#[cfg(not(shuttle))]
pub use std::sync::Mutex;
#[cfg(not(shuttle))]
pub use std::sync::{Condvar, MutexGuard, PoisonError, atomic};

/// Makes two names share a shard in every run or in none.
#[cfg(any(feature = "test-util", shuttle))]
pub type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// Under shuttle, random bytes that are the same when the schedule is replayed.
pub fn chosen_bytes() -> Option<[u8; 16]> {
    #[cfg(shuttle)]
    return Some(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
    #[cfg(not(shuttle))]
    None
}
