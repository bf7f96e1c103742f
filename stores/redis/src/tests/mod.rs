//! Tests with a real server, which each test starts on a socket of its own.

mod acl;
mod difference;
mod loading;
mod ops;
#[cfg(feature = "redis-1")]
mod redis_1;
mod scripts;
pub(super) mod server;
mod setup;
mod term;
mod transport;
