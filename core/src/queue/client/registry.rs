use std::sync::Arc;

use super::Member;
use crate::base::name::{Name, NameMap};
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::queue::lock_queue::LockQueue;

const SHARDS: usize = 16;

/// The names in use, in shards, so that threads rarely wait for each other. A closed shard is `None`.
pub(crate) struct Registry([Mutex<Option<NameMap<Arc<LockQueue>>>>; SHARDS]);

impl Default for Registry {
    fn default() -> Self {
        Self(std::array::from_fn(|_| {
            Mutex::new(Some(NameMap::default()))
        }))
    }
}

impl Registry {
    fn shard(&self, name: &Name) -> &Mutex<Option<NameMap<Arc<LockQueue>>>> {
        &self.0[(name.hashed() >> 32) as usize % SHARDS]
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<LockQueue>> {
        lock(self.shard(name)).as_ref()?.get(name).cloned()
    }

    /// `None` if the registry is closed.
    pub(crate) fn get(&self, name: &Name, member: &Arc<Member>) -> Option<Arc<LockQueue>> {
        let mut shard = lock(self.shard(name));
        let names = shard.as_mut()?;
        if let Some(local) = names.get(name) {
            return Some(local.clone());
        }
        let local = LockQueue::new(name.clone(), member.clone());
        names.insert(name.clone(), local.clone());
        Some(local)
    }

    pub(crate) fn retire(&self, local: &LockQueue) {
        let mut shard = lock(self.shard(local.name()));
        if local.retire()
            && let Some(names) = &mut *shard
        {
            names.remove(local.name());
        }
    }

    /// Queues that are added during the call may be missing.
    pub(crate) fn all(&self) -> Vec<Arc<LockQueue>> {
        let mut all = Vec::new();
        for shard in &self.0 {
            all.extend(lock(shard).iter().flat_map(|names| names.values().cloned()));
        }
        all
    }

    /// Accepts none from now on.
    pub(crate) fn close(&self) -> Vec<Arc<LockQueue>> {
        let shards = self.0.iter().filter_map(|shard| lock(shard).take());
        shards.flat_map(NameMap::into_values).collect()
    }
}
