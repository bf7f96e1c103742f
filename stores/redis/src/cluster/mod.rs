//! Redis Cluster: a Redis store for each node that serves slots. The lock rules and the protocol of a single node are
//! in this crate's other folders.

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

use std::sync::Arc;

use auto_mutex_seam::store::{Engine as _, MemberId, StoreOptions, Unconnected};

pub(crate) use self::inspector::Inspector;
use self::primary::Connector;
use self::refresher::Refresher;
use self::store::ClusterStore;
use crate::RedisEndpoint;

pub(crate) fn unconnected(
    endpoint: &RedisEndpoint,
    options: &StoreOptions,
    member: MemberId,
) -> Unconnected {
    let connector = Connector::new(endpoint, options, member);
    let store = Arc::new(ClusterStore::new(endpoint.servers()));
    (store.clone(), Box::new(Refresher::new(store, connector)))
}
