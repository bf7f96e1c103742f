//! The quorum: several independent Redis servers, of which a majority decides. The rules are in `docs/protocol.md`.
//!
//! A server can be down, slow or restarted empty without harm: after one majority has granted, no other majority can
//! grant. Each server has a Redis store of its own, with the same scripts as a single server. This folder decides which
//! request goes to which server, and merges the answers.
//!
//! - `engine.rs`: the engine, made of one for each server.
//! - `store.rs`, `driver.rs`: requests from any thread, events of the nodes, and the loop that handles both.
//! - `machine.rs`, `job.rs`: the state machine, and one request of the member with the answers of the nodes.
//! - `nodes.rs`: the servers, and the pending releases of each. `votes.rs`, `merge.rs`: the answers of the servers, and
//!   the size of a majority.
//! - `ticket.rs`, `answers.rs`: the state of one ticket, and how an answer changes that state.
//! - `acquire.rs`: a round. `collision.rs`: what follows a round that got no majority. `wake.rs`: waiting for a
//!   release; `wake_queue.rs`: where. `backoff.rs`: the pauses between rounds.
//! - `inspector.rs`: reads names, and changes nothing.
//! - `renew.rs`, `release.rs`, `condvar.rs`, `query.rs`: the other requests.

mod acquire;
mod answers;
mod backoff;
mod collision;
mod condvar;
mod driver;
mod engine;
mod inspector;
mod job;
mod machine;
mod merge;
mod nodes;
mod query;
mod release;
mod renew;
#[cfg(repository)]
#[cfg(test)]
mod simulation;
mod store;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod ticket;
mod votes;
mod wake;
mod wake_queue;

use self::inspector::Inspector;
