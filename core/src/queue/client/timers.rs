use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::base::clock::Instant;
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::queue::lock_queue::LockQueue;

/// After a suspend, the system's timers are late by its length. So the background thread reads the clock at least this
/// often.
pub(crate) const NAP: Duration = Duration::from_secs(1);

/// When the background thread must run each queue next. Entries are never removed early: a queue that was armed again
/// ignores them.
#[derive(Default)]
pub(crate) struct Timers {
    /// By their times and the addresses of their queues.
    entries: Mutex<BTreeMap<(Instant, usize), Arc<LockQueue>>>,
    changed: Notify,
}

impl Timers {
    pub(crate) fn arm(&self, at: Instant, local: &Arc<LockQueue>) {
        if at == Instant::NEVER {
            return;
        }
        let key = (at, Arc::as_ptr(local).addr());
        let mut entries = lock(&self.entries);
        let first = entries.first_key_value().is_none_or(|(key, _)| at < key.0);
        entries.insert(key, local.clone());
        drop(entries);
        if first {
            self.changed.notify_one();
        }
    }

    pub(crate) fn pop(&self, now: Instant) -> Option<(Instant, Arc<LockQueue>)> {
        let mut entries = lock(&self.entries);
        let entry = entries.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((at, _), local) = entry.remove_entry();
        Some((at, local))
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        lock(&self.entries).first_key_value().map(|(key, _)| key.0)
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.entries).len()
    }

    pub(crate) fn clear(&self) {
        // Dropped after the mutex is unlocked: an entry may own the last reference to its queue.
        let entries = std::mem::take(&mut *lock(&self.entries));
        drop(entries);
    }

    /// Makes the background thread check the client now.
    pub(crate) fn interrupt(&self) {
        self.changed.notify_one();
    }

    pub(crate) async fn wait(&self, wait: Option<Duration>) {
        match wait {
            Some(wait) => drop(tokio::time::timeout(wait, self.changed.notified()).await),
            None => self.changed.notified().await,
        }
    }
}
