//! The tasks that wake when a hold ends.

use std::task::{Context, Waker};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wait::{DeferredWakes, lock};

#[derive(Default)]
pub(crate) struct Listeners {
    /// A listener sets this before it checks whether the hold has ended; the thread that ends the hold marks the end
    /// before it reads this. By sequential consistency, at least one of them sees the other's write.
    any: AtomicBool,
    list: Mutex<Vec<Listener>>,
}

struct Listener {
    key: ListenerKey,
    waker: Waker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKey {
    /// A future that removes its entry when it is dropped.
    Numbered(u64),
    /// The address of a pinned body. The body does not remove its entry, but a later body at this address replaces it.
    Pinned(usize),
}

impl Listener {
    /// An executor may use a new waker for each poll. Bodies of one task share an entry.
    fn serves(&self, key: ListenerKey, cx: &Context<'_>) -> bool {
        let pinned = |key| matches!(key, ListenerKey::Pinned(_));
        self.key == key || pinned(self.key) && pinned(key) && self.waker.will_wake(cx.waker())
    }
}

impl Listeners {
    pub(crate) fn register(&self, cx: &Context<'_>, key: ListenerKey) {
        // Cloned before the list is locked, and a replaced one dropped after: it may own the last reference to a task.
        let mut waker = Some(cx.waker().clone());
        let mut listeners = lock(&self.list);
        let known = listeners.iter_mut().find(|known| known.serves(key, cx));
        match known {
            Some(known) => {
                if let Some(waker) = &mut waker {
                    std::mem::swap(&mut known.waker, waker);
                }
            }
            None => listeners.extend(waker.take().map(|waker| Listener { key, waker })),
        }
        drop(listeners);
        self.any.store(true, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, key: ListenerKey) {
        let mut listeners = lock(&self.list);
        let mine = listeners.iter().position(|listener| listener.key == key);
        let mine = mine.map(|index| listeners.swap_remove(index));
        drop(listeners);
        drop(mine);
    }

    /// Wakes all listeners, once.
    pub(crate) fn wake(&self, wakes: &mut DeferredWakes) {
        if !self.any.load(Ordering::SeqCst) {
            return;
        }
        wakes.add(lock(&self.list).drain(..).map(|listener| listener.waker));
    }

    /// Keeps the list locked until the returned value is dropped.
    #[cfg(repository)]
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        self.any.store(true, Ordering::SeqCst);
        lock(&self.list)
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.list).len()
    }
}
