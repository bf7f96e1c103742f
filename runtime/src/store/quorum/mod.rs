//! The quorum: several independent Redis servers, of which a majority decides. The rules are in `docs/protocol.md`.
//!
//! A server can be down, slow or restarted empty without anybody noticing, since what a majority has granted no other
//! majority can grant. On each server it is the same store as that of one server, with the same scripts; here is what
//! is asked of which, and what their answers mean together.
//!
//! - `store.rs`, `inbox.rs`, `driver.rs`: requests from any thread, events of the servers, and the loop that takes both.
//! - `state.rs`: who gets which of them. `nodes.rs`: the servers; `votes.rs`, `merge.rs`: what they said; `enough.rs`:
//!   how many must say so.
//! - `entry.rs`, `note.rs`: one ticket, and what is known of it on each server. `owed.rs`: releases that a server has not executed.
//! - `round.rs`, `lost.rs`, `side.rs`, `jitter.rs`, `crowd.rs`: acquiring, waiting for a release, waiting after a collision, giving way.
//! - `renew.rs`, `release.rs`, `listen.rs`, `query.rs`: renewals, releases, condition variables, questions.

mod crowd;
mod driver;
mod enough;
mod entry;
mod inbox;
mod jitter;
mod listen;
mod lost;
mod merge;
mod nodes;
mod note;
mod owed;
mod query;
mod release;
mod renew;
mod round;
mod side;
#[cfg(test)]
mod simulation;
mod state;
mod store;
#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;
mod votes;

pub(crate) use self::driver::connect;
