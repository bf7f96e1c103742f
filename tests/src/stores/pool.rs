//! Idle servers, for reuse. Starting a server takes a while, emptying one only milliseconds.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crate::events::happens_within;
use crate::redis::Redis;

/// The idle stores of a kind.
pub(super) struct Pool<T> {
    idle: Mutex<Vec<T>>,
    start: fn() -> T,
    /// Deletes what the last test left; `false` if that is impossible.
    empty: fn(&T) -> bool,
}

impl<T> Pool<T> {
    pub(super) const fn new(start: fn() -> T, empty: fn(&T) -> bool) -> Self {
        let idle = Mutex::new(Vec::new());
        Self { idle, start, empty }
    }

    /// Takes an idle store, or starts a new one, for one test alone.
    pub(super) fn take(&'static self) -> Lent<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = { idle }.pop();
        Lent {
            item: Some(idle.unwrap_or_else(self.start)),
            pool: self,
        }
    }
}

/// A store that returns to its pool when dropped, except after a failed test, because a client may still be using it.
pub(super) struct Lent<T: 'static> {
    item: Option<T>,
    pool: &'static Pool<T>,
}

impl<T> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.item.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let item = self.item.take().filter(|_| !std::thread::panicking());
        if let Some(item) = item.filter(self.pool.empty) {
            let mut idle = self
                .pool
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            idle.push(item);
        }
    }
}

/// Waits until the last client has disconnected, because its late release would leave keys, and then empties the
/// server. Returns `false` if a client stays connected.
pub(super) fn empty(server: &Redis) -> bool {
    let left = happens_within(std::time::Duration::from_secs(2), || server.clients() == 0);
    if left {
        server.command(&["FLUSHALL"]);
    }
    left
}
