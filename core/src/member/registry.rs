//! [`Registry`]: the names of one client that are in use in this process.

use std::sync::Arc;

use super::NameQueue;
use crate::name::{Name, NameMap};
use crate::sync::Mutex;
use crate::wait::lock;

const SHARDS: usize = 16;

/// The queues by name, in shards, so that threads rarely wait for each other.
pub(crate) struct Registry<Q> {
    shards: [Mutex<Shard<Q>>; SHARDS],
}

struct Shard<Q> {
    names: NameMap<Arc<Q>>,
    closed: bool,
}

impl<Q> Default for Registry<Q> {
    fn default() -> Self {
        let shard = || {
            Mutex::new(Shard {
                names: NameMap::default(),
                closed: false,
            })
        };
        Self {
            shards: std::array::from_fn(|_| shard()),
        }
    }
}

impl<Q: NameQueue> Registry<Q> {
    fn shard(&self, name: &Name) -> &Mutex<Shard<Q>> {
        &self.shards[(name.hashed() >> 32) as usize % SHARDS]
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<Q>> {
        lock(self.shard(name)).names.get(name).cloned()
    }

    /// The queue of `name`; if there is none, adds the one that `make` returns. `None` if the registry is closed.
    pub(crate) fn get(&self, name: &Name, make: impl FnOnce() -> Arc<Q>) -> Option<Arc<Q>> {
        let mut shard = lock(self.shard(name));
        if shard.closed {
            return None;
        }
        if let Some(local) = shard.names.get(name) {
            return Some(local.clone());
        }
        let local = make();
        shard.names.insert(name.clone(), local.clone());
        Some(local)
    }

    /// Removes `local` if it is idle.
    pub(crate) fn retire(&self, local: &Arc<Q>) {
        let mut shard = lock(self.shard(local.name()));
        if local.retire() {
            shard.names.remove(local.name());
        }
    }

    /// Every local queue. Queues that are added during the call may be missing.
    pub(crate) fn all(&self) -> Vec<Arc<Q>> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| lock(shard).names.values().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Removes and returns all queues, and accepts none from now on.
    pub(crate) fn close(&self) -> Vec<Arc<Q>> {
        let take = |shard: &Mutex<Shard<Q>>| {
            let mut shard = lock(shard);
            shard.closed = true;
            std::mem::take(&mut shard.names)
        };
        self.shards
            .iter()
            .flat_map(take)
            .map(|(_, local)| local)
            .collect()
    }
}
