//! The tasks to wake when a hold ends.

#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::task::{Context, Waker};

use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::{DeferredWakes, lock};

#[derive(Default)]
pub(crate) struct Listeners {
    /// A listener sets this before it checks whether the hold has ended. The ending thread marks the end before it
    /// reads this. Both are sequentially consistent, so at least one sees the other's write.
    any: AtomicBool,
    list: Mutex<Vec<(ListenerKey, Waker)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKey {
    Numbered(u64),
    /// The address of a body. Its entry is not removed; a later body at this address replaces it.
    Pinned(usize),
}

impl Listeners {
    pub(crate) fn register(&self, cx: &Context<'_>, key: ListenerKey) {
        let is_pinned = |key| matches!(key, ListenerKey::Pinned(_));
        // An executor may use a new waker for each poll. The bodies of one task share an entry.
        let serves = |known: &(ListenerKey, Waker)| {
            let shared = is_pinned(known.0) && is_pinned(key) && known.1.will_wake(cx.waker());
            known.0 == key || shared
        };
        // Cloned before the list is locked, and a replaced one is dropped after, because it may own a task's last
        // reference.
        let waker = cx.waker().clone();
        let mut listeners = lock(&self.list);
        let known = listeners.iter().position(serves);
        let known = known.map(|index| listeners.swap_remove(index));
        listeners.push((key, waker));
        drop(listeners);
        drop(known);
        self.any.store(true, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, key: ListenerKey) {
        let mut listeners = lock(&self.list);
        let mine = listeners.iter().position(|listener| listener.0 == key);
        let mine = mine.map(|index| listeners.swap_remove(index));
        drop(listeners);
        drop(mine);
    }

    pub(crate) fn wake(&self, wakes: &mut DeferredWakes) {
        if self.any.load(Ordering::SeqCst) {
            wakes.add(lock(&self.list).drain(..).map(|listener| listener.1));
        }
    }
}
