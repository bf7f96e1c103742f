//! Redis Cluster: the Redis store, once for every node that serves slots. The lock rules and the protocol of one node
//! are in this crate's other folders.

mod connector;
mod engine;
mod epoch;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inspector;
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
