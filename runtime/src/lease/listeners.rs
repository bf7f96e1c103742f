//! Who is woken when a hold ends.

use std::task::{Context, Waker};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wait::{DeferredWakes, lock};

/// The wakers of those who wait for the end of one hold.
#[derive(Default)]
pub(crate) struct Listeners {
    /// Somebody has come. Set before it looks whether the hold has ended, and looked at after that was marked, both in one
    /// order with the mark.
    any: AtomicBool,
    list: Mutex<Vec<Listener>>,
}

struct Listener {
    /// Of the future that takes it back when it is dropped.
    key: Option<u64>,
    waker: Waker,
}

impl Listeners {
    /// Registers the task of `cx`: in place of the one with the same key, or, without a key, once.
    pub(crate) fn register(&self, cx: &Context<'_>, key: Option<u64>) {
        // Cloned before and dropped after the lock: a waker may be the last that keeps a task.
        let mut waker = Some(cx.waker().clone());
        let mut listeners = lock(&self.list);
        let known = listeners
            .iter_mut()
            .find(|known| known.key == key && (key.is_some() || known.waker.will_wake(cx.waker())));
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

    /// Takes back what was registered with `key`.
    pub(crate) fn remove(&self, key: u64) {
        let mut listeners = lock(&self.list);
        let mine = listeners
            .iter()
            .position(|listener| listener.key == Some(key));
        let mine = mine.map(|index| listeners.swap_remove(index));
        drop(listeners);
        drop(mine);
    }

    /// DeferredWakes all, once.
    pub(crate) fn wake(&self, wakes: &mut DeferredWakes) {
        if !self.any.load(Ordering::SeqCst) {
            return;
        }
        wakes.add(lock(&self.list).drain(..).map(|listener| listener.waker));
    }

    /// Nobody comes or goes while this lives.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        self.any.store(true, Ordering::SeqCst);
        lock(&self.list)
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.list).len()
    }
}
