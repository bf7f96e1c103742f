//! The part of the test rig that needs no Unix: it lets the conformance tests run on Windows, on the memory store and
//! on Redis over TCP.

#![forbid(unsafe_code)]

#[path = "../../src/events/mod.rs"]
pub mod events;
#[path = "../../src/real_time.rs"]
pub mod real_time;
pub mod redis;
#[path = "../../src/runtimes/mod.rs"]
pub mod runtimes;
#[path = "../../src/seed/mod.rs"]
pub mod seed;
pub mod stores;

/// Whether `result` is the error of a lost lock.
pub fn was_lost<T>(result: Result<T, auto_mutex::LockError>) -> bool {
    matches!(result, Err(auto_mutex::LockError::Lost { .. }))
}
