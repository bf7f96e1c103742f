//! Tests with a real server, which each test starts on a socket of its own.

mod acl;
mod config;
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

use auto_mutex_core::store::Name;

use crate::script::command::KEY;

/// The keys of a name begin with its first key, and end so.
const KEYS: [&str; 9] = [
    "", ":tickets", ":held", ":tokens", ":queue", ":waits", ":gone", ":signals", ":kick",
];

/// The first key of a name.
fn key(name: &Name) -> String {
    format!("{KEY}{name}}}")
}
