use std::sync::Arc;

use super::ClientCore;
use crate::base::error::LockError;
use crate::base::name::{Name, NameMap};
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::queue::lock_queue::LockQueue;

const SHARDS: usize = 16;

/// The names in use, in shards to reduce contention.
#[derive(Default)]
pub(crate) struct Registry([Mutex<NameMap<Arc<LockQueue>>>; SHARDS]);

impl Registry {
    fn shard(&self, name: &Name) -> &Mutex<NameMap<Arc<LockQueue>>> {
        &self.0[(name.hashed() >> 32) as usize % SHARDS]
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<LockQueue>> {
        lock(self.shard(name)).get(name).cloned()
    }

    /// Fails if the client is closed. The check is made under the mutex, so that [`take`](Self::take) gets every queue.
    pub(crate) fn get(
        &self,
        name: &Name,
        core: &Arc<ClientCore>,
    ) -> Result<Arc<LockQueue>, LockError> {
        let mut names = lock(self.shard(name));
        if let Some(local) = names.get(name) {
            return Ok(local.clone());
        }
        core.check(name)?;
        let local = LockQueue::new(name.clone(), core.clone());
        names.insert(name.clone(), local.clone());
        Ok(local)
    }

    pub(crate) fn retire(&self, local: &LockQueue) {
        let mut names = lock(self.shard(&local.name));
        if local.retire() {
            names.remove(&local.name);
        }
    }

    /// May miss queues that are added during the call.
    pub(crate) fn all(&self) -> Vec<Arc<LockQueue>> {
        let mut all = Vec::new();
        for shard in &self.0 {
            all.extend(lock(shard).values().cloned());
        }
        all
    }

    /// Removes all queues of a closed client.
    pub(crate) fn take(&self) -> Vec<Arc<LockQueue>> {
        let shards = self.0.iter().map(|shard| std::mem::take(&mut *lock(shard)));
        shards.flat_map(NameMap::into_values).collect()
    }
}
