//! Redis Cluster: the Redis store, once for every node that serves slots.
//!
//! - `store.rs`: requests from any thread, to the node of their name. `redirector.rs`: what a node answers, and requests
//!   that go on to another node.
//! - `slot.rs`, `slot_map.rs`, `primary.rs`: which slot a name belongs to, and which node serves it.
//! - `refresher.rs`: keeps the slot map and the connections up to date. `topology.rs`: who serves what, as the nodes say.
//! - `open.rs`, `connector.rs`: the first connections, and how others are made. `epoch.rs`: where the guard of each node
//!   keeps its notes.
//!
//! This folder knows neither the rules of locks nor how to talk to one node: that is `store/redis`.

mod connector;
mod epoch;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod open;
mod primary;
mod redirector;
mod refresher;
mod slot;
mod slot_map;
mod store;
#[cfg(test)]
mod tests;
mod topology;

pub(super) use self::open::open;
