//! Tests against a real server, started for each test on a socket of its own.

mod acl;
mod difference;
mod loading;
mod ops;
mod order;
mod scripts;
pub(super) mod server;
mod setup;
mod term;
mod transport;
