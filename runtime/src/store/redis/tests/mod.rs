//! Tests with a real server, which each test starts on a socket of its own.

mod acl;
mod difference;
mod loading;
mod ops;
mod scripts;
pub(super) mod server;
mod setup;
mod term;
mod transport;
