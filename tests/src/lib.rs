//! The rig: servers, faults, worker processes and witnesses that the tests of `tests/` share.
//!
//! Nothing here looks inside the library under test: it goes through the public API, or asks Redis over
//! a connection of its own. The tests themselves live in `tests/tests`.

#![forbid(unsafe_code)]

pub mod annotated;
pub mod authority;
pub mod belt;
pub mod clock;
pub mod cluster;
pub mod events;
pub mod history;
pub mod log;
pub mod managed;
pub mod process;
pub mod proxy;
pub mod redis;
pub mod resp;
pub mod runtimes;
pub mod seed;
pub mod sentinel;
pub mod socks;
pub mod spans;
pub mod stalls;
pub mod stores;
pub mod witness;
pub mod worker;

/// Whether `result` says that the lock was lost.
pub fn was_lost<T>(result: Result<T, auto_mutex::LockError>) -> bool {
    matches!(result, Err(auto_mutex::LockError::Lost { .. }))
}

/// What `error` says, and what stands behind it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let said: Vec<_> = causes.map(ToString::to_string).collect();
    said.join(": ")
}

/// The examples of the attributes' documentation. They need the runtime, which their own crate cannot have.
#[cfg(doctest)]
mod attributes {
    #[doc = include_str!("../../macros/src/docs/auto_mutex.md")]
    struct AutoMutex;
    #[doc = include_str!("../../macros/src/docs/auto_read.md")]
    struct AutoRead;
    #[doc = include_str!("../../macros/src/docs/auto_semaphore.md")]
    struct AutoSemaphore;
    #[doc = include_str!("../../macros/src/docs/auto_write.md")]
    struct AutoWrite;
    #[doc = include_str!("../../macros/src/docs/no_auto_mutex.md")]
    struct NoAutoMutex;
}

/// The examples of the guide for users of other libraries.
#[cfg(doctest)]
#[doc = include_str!("../../docs/migration.md")]
struct Migration;
