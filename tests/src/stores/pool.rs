//! Servers that no test uses at the moment: to start some takes a while, to empty them milliseconds.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crate::events::happens_within;
use crate::redis::Redis;

/// What a test can leave to another one.
pub(super) trait Reusable: Sized {
    /// Starts a new one.
    fn start() -> Self;

    /// Takes away what the last test left; `false` if that cannot be done.
    fn empty(&self) -> bool;
}

/// Those that are idle.
pub(super) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Reusable> Pool<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One that is idle, or a new one; nobody else has it meanwhile.
    pub(super) fn take(&'static self) -> Lent<T> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lent {
            item: Some(idle.unwrap_or_else(T::start)),
            pool: self,
        }
    }
}

/// One that goes back to its pool when it is dropped, unless the test failed: then somebody may still use it.
pub(super) struct Lent<T: Reusable + 'static> {
    item: Option<T>,
    pool: &'static Pool<T>,
}

impl<T: Reusable> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.item.as_ref().expect("it is there until it is dropped")
    }
}

impl<T: Reusable> Drop for Lent<T> {
    fn drop(&mut self) {
        let item = self.item.take().filter(|_| !std::thread::panicking());
        if let Some(item) = item.filter(T::empty) {
            let mut idle = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(item);
        }
    }
}

/// Empties a server that only members connect to, after the last of them has gone: a late release would leave something.
pub(super) fn empty(server: &Redis) -> bool {
    let left = happens_within(std::time::Duration::from_secs(2), || server.clients() == 0);
    if left {
        server.command(&["FLUSHALL"]);
    }
    left
}
