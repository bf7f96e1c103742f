//! The tasks to wake when a hold ends.

#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Waker};

use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::{DeferredWakes, lock};

#[derive(Default)]
pub(crate) struct Listeners {
    /// A listener sets this before it checks whether the hold has ended. The ending thread marks the end before it
    /// reads this. Both are sequentially consistent, so at least one sees the other's write.
    any: AtomicBool,
    list: Mutex<BTreeMap<ListenerKey, Waker>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListenerKey(u64);

impl ListenerKey {
    pub(crate) fn new() -> Self {
        static KEYS: AtomicU64 = AtomicU64::new(0);
        Self(KEYS.fetch_add(1, Ordering::Relaxed))
    }
}

impl Listeners {
    pub(crate) fn register(&self, cx: &Context<'_>, key: ListenerKey) {
        // Cloned before the list is locked, and a replaced one is dropped after, because it may own a task's last
        // reference.
        let waker = cx.waker().clone();
        let known = lock(&self.list).insert(key, waker);
        drop(known);
        self.any.store(true, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, key: ListenerKey) {
        let mine = lock(&self.list).remove(&key);
        drop(mine);
    }

    /// Whether nobody listens.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.list).is_empty()
    }

    pub(crate) fn wake(&self, wakes: &mut DeferredWakes) {
        if self.any.load(Ordering::SeqCst) {
            wakes.add(std::mem::take(&mut *lock(&self.list)).into_values());
        }
    }
}
