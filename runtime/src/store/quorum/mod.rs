//! The quorum: several independent Redis servers, of which a majority decides. The rules are in `docs/protocol.md`.
//!
//! A server can be down, slow or restarted empty, and nobody need notice: what a majority has granted no other majority
//! can grant. Each server is the store of a single server, with the same scripts. This folder decides which server is
//! sent what, and what the answers mean together.
//!
//! - `store.rs`, `driver.rs`: requests from any thread, events of the nodes, and the loop that takes both.
//! - `machine.rs`, `job.rs`: the state machine, and one request of the member that the nodes are asked about.
//! - `nodes.rs`: the servers, and the releases that are pending on each. `votes.rs`, `merge.rs`: what they answered, and
//!   how many are enough.
//! - `ticket.rs`, `answers.rs`: one ticket, and what an answer says about it.
//! - `acquire.rs`, `collision.rs`, `wake.rs`, `backoff.rs`: a round, what follows a lost one, waiting for a release, pauses.
//! - `renew.rs`, `release.rs`, `condvar.rs`, `query.rs`: the other requests.

mod acquire;
mod answers;
mod backoff;
mod collision;
mod condvar;
mod driver;
mod job;
mod machine;
mod merge;
mod nodes;
mod query;
mod release;
mod renew;
#[cfg(test)]
mod simulation;
mod store;
#[cfg(test)]
mod tests;
mod ticket;
mod votes;
mod wake;

pub(crate) use self::driver::connect;
