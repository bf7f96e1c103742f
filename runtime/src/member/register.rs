//! Which names are in use in this process.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use crate::name::Name;
use crate::queue::Local;
use crate::wait::lock;

const SHARDS: usize = 16;

/// Name → local queue, in shards so that threads do not meet. Names are compared whole: hashes that collide
/// never share a lock.
#[derive(Default)]
pub(crate) struct Register {
    hasher: RandomState,
    shards: [Mutex<HashMap<Name, Arc<Local>>>; SHARDS],
}

impl Register {
    fn shard(&self, name: &Name) -> &Mutex<HashMap<Name, Arc<Local>>> {
        &self.shards[self.hasher.hash_one(name) as usize % SHARDS]
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<Local>> {
        lock(self.shard(name)).get(name).cloned()
    }

    pub(crate) fn get(&self, name: &Name, make: impl FnOnce() -> Arc<Local>) -> Arc<Local> {
        let mut shard = lock(self.shard(name));
        if let Some(local) = shard.get(name) {
            return local.clone();
        }
        let local = make();
        shard.insert(name.clone(), local.clone());
        local
    }

    /// Takes `local` out if nothing is left of it.
    pub(crate) fn retire(&self, local: &Arc<Local>) {
        let mut shard = lock(self.shard(local.name()));
        if local.retire() {
            shard.remove(local.name());
        }
    }

    /// Every local queue, at about this moment.
    pub(crate) fn all(&self) -> Vec<Arc<Local>> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>())
            .collect()
    }

    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            lock(shard).clear();
        }
    }
}
