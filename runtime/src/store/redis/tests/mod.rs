//! Tests against a real server, started for each test on a socket of its own.

mod acl;
mod difference;
mod loading;
mod ops;
mod reign;
mod scripts;
pub(super) mod server;
mod setup;
mod transport;
