//! The timers of the engine: for each name, when the engine must run its queue next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Instant;
use crate::sync::Mutex;
use crate::wait::lock;

/// After a suspend, the system's timers are late by the length of the suspend. So the engine reads the clock at least
/// this often.
pub(crate) const NAP: Duration = Duration::from_secs(1);

/// Points in time, each with a queue to run. Entries are never removed early: a queue that was armed again ignores the
/// old entry.
pub(crate) struct Timers<Q> {
    state: Mutex<State<Q>>,
    /// Notified when an earlier time was armed, or when the engine should check the client.
    changed: Notify,
}

struct State<Q> {
    entries: BTreeMap<(Instant, u64), Arc<Q>>,
    count: u64,
}

impl<Q> Default for Timers<Q> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                entries: BTreeMap::new(),
                count: 0,
            }),
            changed: Notify::new(),
        }
    }
}

impl<Q> Timers<Q> {
    pub(crate) fn arm(&self, at: Instant, local: &Arc<Q>) {
        if at == Instant::NEVER {
            return;
        }
        let mut state = lock(&self.state);
        let first = state
            .entries
            .first_key_value()
            .is_none_or(|(key, _)| at < key.0);
        state.count += 1;
        let key = (at, state.count);
        state.entries.insert(key, local.clone());
        drop(state);
        if first {
            self.changed.notify_one();
        }
    }

    /// Removes and returns the first entry if it is due.
    pub(crate) fn pop(&self, now: Instant) -> Option<(Instant, Arc<Q>)> {
        let mut state = lock(&self.state);
        let entry = state
            .entries
            .first_entry()
            .filter(|entry| entry.key().0 <= now)?;
        let ((at, _), local) = entry.remove_entry();
        Some((at, local))
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        lock(&self.state)
            .entries
            .first_key_value()
            .map(|(key, _)| key.0)
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).entries.len()
    }

    pub(crate) fn clear(&self) {
        // The entries are dropped after the mutex is unlocked: an entry may own the last reference to its queue.
        let entries = std::mem::take(&mut lock(&self.state).entries);
        drop(entries);
    }

    /// Makes the engine check the client now.
    pub(crate) fn interrupt(&self) {
        self.changed.notify_one();
    }

    /// Waits for `wait` (`None`: without a limit), or until `changed` is notified.
    pub(crate) async fn wait(&self, wait: Option<Duration>) {
        match wait {
            // The engine checks again in both cases, so the result is not needed.
            Some(wait) => drop(tokio::time::timeout(wait, self.changed.notified()).await),
            None => self.changed.notified().await,
        }
    }
}
