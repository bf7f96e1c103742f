//! Redis Cluster: the Redis store, once for every node that serves slots.
//!
//! - `slot.rs`, `map.rs`, `primary.rs`: which slot a name belongs to, and which node serves it.
//! - `store.rs`: requests from any thread, to the node of their name. `relay.rs`: what a node answers and tells, and what
//!   `redirect.rs` reads in it.
//! - `open.rs`, `nodes.rs`: the first connections, and how others are made. `epoch.rs`: where the guard of each keeps its notes.
//! - `keeper.rs`: keeps map and connections. `survey.rs` asks the nodes, when `pace.rs` says so; `view.rs` is what one of
//!   them said, `draw.rs` makes a map of it.
//!
//! The rules of locks are not known here, nor how one node is talked to: that is `store/redis`.

mod belief;
mod draw;
mod epoch;
mod keeper;
mod map;
mod nodes;
mod open;
mod pace;
mod primary;
mod redirect;
mod relay;
mod slot;
mod store;
mod survey;
#[cfg(test)]
mod tests;
mod view;

pub(super) use self::open::open;
