//! The test rig: servers, faults, worker processes and witnesses for the tests in `tests/`.
//!
//! The rig never uses the library's internals: it calls the public API, or asks Redis through a separate connection.
//! The tests are in `tests/tests`.

#![forbid(unsafe_code)]

pub mod annotated;
pub mod authority;
pub mod belt;
pub mod clock;
pub mod cluster;
pub mod databases;
pub mod events;
pub mod history;
pub mod log;
pub mod managed;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod real_time;
pub mod redis;
pub mod resp;
pub mod runtimes;
pub mod seed;
pub mod sentinel;
pub mod spans;
pub mod stores;
pub mod witness;
pub mod worker;

/// Whether `result` is the error of a lost lock.
pub fn was_lost<T>(result: Result<T, auto_mutex::LockError>) -> bool {
    matches!(result, Err(auto_mutex::LockError::Lost { .. }))
}

/// The message of `error`, followed by those of its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let said: Vec<_> = causes.map(ToString::to_string).collect();
    said.join(": ")
}
