//! Redis Cluster: the Redis store, once for every node that serves slots.
//!
//! - `store.rs`: takes requests from any thread, and sends each to the node of its name. `redirector.rs`: answers of
//!   a node, and redirects.
//! - `slot.rs`, `slot_map.rs`, `primary.rs`: the slot of a name, and the node that serves it.
//! - `refresher.rs`: keeps the slot map and the connections up to date. `topology.rs`: reads the topology that a node
//!   reports.
//! - `inspector.rs`: reads names, and changes nothing.
//! - `engine.rs`: the engine. `open.rs`: makes the first connections. `connector.rs`: makes each connection. `epoch.rs`: the keys for the term
//!   notes of each node.
//!
//! This folder contains neither the lock rules nor the protocol of one node: see `store/redis`.

mod connector;
mod engine;
mod epoch;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inspector;
mod open;
mod primary;
mod redirector;
mod refresher;
mod slot;
mod slot_map;
mod store;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod topology;

pub(crate) use self::engine::ClusterEndpoint;
use self::inspector::Inspector;
use self::refresher::Refresher;
