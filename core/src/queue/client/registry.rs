use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::ClientCore;
use crate::base::error::LockError;
use crate::base::name::{KeyHasher, Name, NameMap};
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicUsize, Ordering};
use crate::base::wait::lock;
use crate::queue::lock_queue::LockQueue;
use crate::store::Ticket;

const SHARDS: usize = 16;

/// The names in use, in shards to reduce contention.
#[derive(Default)]
pub(crate) struct Registry {
    names: [Mutex<NameMap<Arc<LockQueue>>>; SHARDS],
    alone: Mutex<Alone>,
    /// How many wait alone.
    count: AtomicUsize,
}

/// Calls that wait for signals, of which a name can have thousands in one process. They hand nothing on to each other,
/// so each has a queue of its own: in a common one, each answer would look at all of them.
#[derive(Default)]
struct Alone {
    /// By number, each with its tickets.
    queues: BTreeMap<u64, (Arc<LockQueue>, Vec<u64>)>,
    /// By the public half of the ticket.
    tickets: HashMap<u64, Arc<LockQueue>, BuildHasherDefault<KeyHasher>>,
}

impl Registry {
    fn shard(&self, name: &Name) -> &Mutex<NameMap<Arc<LockQueue>>> {
        &self.names[(name.hashed() >> 32) as usize % SHARDS]
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<LockQueue>> {
        lock(self.shard(name)).get(name).cloned()
    }

    /// The queue with the ticket of this public half: its own, or that of its name.
    #[inline]
    pub(crate) fn find_ticket(&self, name: &Name, public: Option<u64>) -> Option<Arc<LockQueue>> {
        let alone = |public| lock(&self.alone).tickets.get(&public).cloned();
        let any = self.count.load(Ordering::Acquire) > 0;
        let found = public.filter(|_| any).and_then(alone);
        found.or_else(|| self.find(name))
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
        let local = LockQueue::new(name.clone(), core.clone(), false);
        names.insert(name.clone(), local.clone());
        Ok(local)
    }

    /// A queue for one call, which waits for a signal.
    pub(crate) fn add_alone(
        &self,
        name: &Name,
        core: &Arc<ClientCore>,
    ) -> Result<Arc<LockQueue>, LockError> {
        let mut alone = lock(&self.alone);
        core.check(name)?;
        let local = LockQueue::new(name.clone(), core.clone(), true);
        let added = (local.clone(), Vec::new());
        alone.queues.insert(local.number, added);
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok(local)
    }

    /// Notes a ticket of a queue that is alone, and whose mutex is locked.
    pub(crate) fn note_ticket(&self, local: &Arc<LockQueue>, ticket: Ticket) {
        let Alone { queues, tickets } = &mut *lock(&self.alone);
        if let Some((_, known)) = queues.get_mut(&local.number) {
            known.push(ticket.public());
            tickets.insert(ticket.public(), local.clone());
        }
    }

    /// Retires the queue if it is idle, and forgets it then.
    pub(crate) fn retire(&self, local: &LockQueue) {
        if local.alone {
            // The mutex of the queue must not be locked inside this one: see `note_ticket`.
            if local.retire() {
                self.forget_alone(local);
            }
            return;
        }
        let mut names = lock(self.shard(&local.name));
        if local.retire() {
            names.remove(&local.name);
        }
    }

    fn forget_alone(&self, local: &LockQueue) {
        let Alone { queues, tickets } = &mut *lock(&self.alone);
        if let Some((_, known)) = queues.remove(&local.number) {
            self.count.fetch_sub(1, Ordering::AcqRel);
            known.iter().for_each(|public| drop(tickets.remove(public)));
        }
    }

    /// May miss queues that are added during the call.
    pub(crate) fn all(&self) -> Vec<Arc<LockQueue>> {
        let mut all = Vec::new();
        for shard in &self.names {
            all.extend(lock(shard).values().cloned());
        }
        all.extend(
            lock(&self.alone)
                .queues
                .values()
                .map(|queue| queue.0.clone()),
        );
        all
    }

    /// Removes all queues of a closed client.
    pub(crate) fn take(&self) -> Vec<Arc<LockQueue>> {
        let shards = self.names.iter();
        let shards = shards.map(|shard| std::mem::take(&mut *lock(shard)));
        let alone = std::mem::take(&mut *lock(&self.alone)).queues;
        self.count.store(0, Ordering::Release);
        let alone = alone.into_values().map(|queue| queue.0);
        shards.flat_map(NameMap::into_values).chain(alone).collect()
    }
}
