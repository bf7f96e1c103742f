//! Tests with a real server, which each test starts on its own socket.

mod acl;
mod config;
mod difference;
mod epoch;
mod loading;
mod ops;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../tests/src/real_time.rs"]
mod real_time;
mod scripts;
pub(super) mod server;
mod setup;
mod strangers;
mod transport;

use auto_mutex_seam::store::Name;

use crate::script::command::KEY;

/// What follows the first key in the keys of a name.
const KEYS: [&str; 9] = [
    "", ":tickets", ":held", ":tokens", ":queue", ":waits", ":gone", ":signals", ":kick",
];

/// The first key of a name.
fn key(name: &Name) -> String {
    format!("{KEY}{name}}}")
}
