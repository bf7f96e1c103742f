//! What tests see of the listeners.

use std::sync::atomic::Ordering;

use super::Listeners;
use crate::base::wait::lock;

impl Listeners {
    /// Keeps the list locked until the returned value is dropped.
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        self.any.store(true, Ordering::SeqCst);
        lock(&self.list)
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.list).len()
    }
}
