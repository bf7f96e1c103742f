//! Whether the store can be reached.

use crate::clock::Instant;
use crate::error::StoreError;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wait::lock;

/// The state of the connection as the driver of the store reports it.
#[derive(Debug, Default)]
pub(crate) struct Link {
    // Looked at in every step, so kept apart from the lock.
    is_down: AtomicBool,
    outage: Mutex<Option<(Instant, StoreError)>>,
}

impl Link {
    pub(crate) fn up(&self) {
        *lock(&self.outage) = None;
        self.is_down.store(false, Ordering::Release);
    }

    pub(crate) fn down(&self, error: StoreError) {
        lock(&self.outage).get_or_insert_with(|| (Instant::now(), error));
        self.is_down.store(true, Ordering::Release);
    }

    /// The cause is another one by now.
    pub(crate) fn still_down(&self, error: StoreError) {
        if let Some(outage) = &mut *lock(&self.outage) {
            outage.1 = error;
        }
    }

    /// Since when it cannot be reached.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        if !self.is_down.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.outage).as_ref().map(|outage| outage.0)
    }

    /// Since when and why, while it cannot be reached.
    pub(crate) fn outage(&self) -> Option<(Instant, StoreError)> {
        if !self.is_down.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.outage).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_keeps_its_beginning_and_tells_its_last_cause() {
        let link = Link::default();
        link.still_down(StoreError::disconnected("not down at all"));
        assert!(link.outage().is_none());
        link.down(StoreError::disconnected("the server closed the connection"));
        let since = link.outage().unwrap().0;
        link.still_down(StoreError::disconnected("WRONGPASS"));
        let (same, cause) = link.outage().unwrap();
        assert_eq!((same, cause.to_string().as_str()), (since, "WRONGPASS"));
        link.up();
        assert!(link.outage().is_none());
    }
}
