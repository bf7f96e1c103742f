use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::base::clock::Instant;
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::queue::lock_queue::LockQueue;

/// How often the background thread reads the clock at least. System timers ignore the time of a suspend, and would fire
/// late after one.
pub(crate) const NAP: Duration = Duration::from_secs(1);

/// When the background thread must run each queue next. A queue whose time changes gets a new entry, and ignores the
/// old one.
#[derive(Default)]
pub(crate) struct Timers {
    /// Sorted by time; the queue's number makes the keys unique.
    pub(in crate::queue) entries: Mutex<BTreeMap<(Instant, u64), Arc<LockQueue>>>,
    changed: Notify,
}

impl Timers {
    pub(crate) fn arm(&self, at: Instant, local: &Arc<LockQueue>) {
        if at == Instant::NEVER {
            return;
        }
        let key = (at, local.number);
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

    pub(crate) fn clear(&self) {
        // Dropped after the mutex is unlocked, because an entry may own the last reference to its queue.
        let entries = std::mem::take(&mut *lock(&self.entries));
        drop(entries);
    }

    /// Wakes the background thread to check the client now.
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
