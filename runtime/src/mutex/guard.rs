//! [`MutexGuard`]: what a holder has.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::Hold;
use crate::queue::Unlocked;

/// A held lock. Dropping it releases the lock in the background, from any thread, with or without a runtime.
///
/// A lease lock can be lost while the guard lives: when the store could not be reached for a lease, when `expire`
/// is over, when somebody broke it. [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost) tell, at the latest at the end of the lease by the local clock. What must never happen twice
/// should hand [`fencing_token`](Self::fencing_token) to the resource it changes.
#[must_use = "if unused, the lock is released at once"]
pub struct MutexGuard {
    hold: Arc<Hold>,
    /// `unlock` has taken over the release.
    unlocked: bool,
}

impl MutexGuard {
    /// One of the guards that `hold` already counts.
    pub(super) fn new(hold: Arc<Hold>) -> Self {
        Self {
            hold,
            unlocked: false,
        }
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    /// The complete name of the lock.
    #[must_use]
    pub fn name(&self) -> &str {
        self.hold.name().as_str()
    }

    /// A number that grows with every grant of this name, for the protected resource to check. Fits a signed
    /// 64-bit column.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.hold.grant().token
    }

    /// How much longer it may be held before `expire` ends it; [`Duration::MAX`] if nothing does, zero if it
    /// is lost.
    #[must_use]
    pub fn expires_in(&self) -> Duration {
        if self.is_lost() {
            return Duration::ZERO;
        }
        if self.hold.expires() == Instant::NEVER {
            return Duration::MAX;
        }
        self.hold.expires_in(Instant::now())
    }

    /// How long the call waited for the lock.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.hold.grant().waited
    }

    /// How often the store was asked for the lock.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.hold.grant().attempts
    }

    /// Whether the lock may belong to somebody else by now. Once true, always true.
    /// Also true after [`Mutex::unlock`](super::Mutex::unlock) has released it under this guard.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        !self.hold.is_valid()
    }

    /// Completes when the lock is lost, or was released by [`Mutex::unlock`](super::Mutex::unlock).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost by dropping the future.
    pub async fn lost(&self) {
        self.hold.ended().await;
    }

    /// Whether the lock is still held, as an error to return with `?`. Does not ask the store.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`].
    pub fn check(&self) -> Result<(), LockError> {
        if self.is_lost() {
            Err(self.hold.lost_error())
        } else {
            Ok(())
        }
    }

    /// Lets `expire` count again from now, as `expire`, and has the store confirm that the lock is held.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if it is not held any more, [`LockError::InvalidOption`] for less than 10 ms.
    ///
    /// # Cancel safety
    ///
    /// `expire` counts again from the call, whether or not the future completes.
    pub async fn refresh(&self, expire: Duration) -> Result<(), LockError> {
        match self.hold.local().refresh(&self.hold, expire)? {
            Some(confirmed) => confirmed.wait().await,
            None => Err(self.hold.lost_error()),
        }
    }

    /// As [`refresh`](Self::refresh), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`refresh`](Self::refresh).
    pub fn blocking_refresh(&self, expire: Duration) -> Result<(), LockError> {
        match self.hold.local().refresh(&self.hold, expire)? {
            Some(confirmed) => confirmed.blocking_wait(),
            None => Err(self.hold.lost_error()),
        }
    }

    /// Releases the lock and waits for the store's word: `true` if it was held until now, `false` if it had been lost
    /// before. While other guards share the hold (re-entry) nothing is released, and the answer is whether it is
    /// still held.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the store does not answer within `patience`; the release is sent until it
    /// does.
    ///
    /// # Cancel safety
    ///
    /// The lock is released, whether or not the future completes.
    pub async fn unlock(mut self) -> Result<bool, LockError> {
        match self.leave() {
            Some(answer) => Ok(answer.wait().await?.is_some()),
            None => Ok(self.hold.is_valid()),
        }
    }

    /// As [`unlock`](Self::unlock), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`unlock`](Self::unlock).
    pub fn blocking_unlock(mut self) -> Result<bool, LockError> {
        match self.leave() {
            Some(answer) => Ok(answer.blocking_wait()?.is_some()),
            None => Ok(self.hold.is_valid()),
        }
    }

    /// Leaves the hold; the answer of the store, if this was the last guard.
    fn leave(&mut self) -> Option<Unlocked> {
        self.unlocked = true;
        self.hold
            .unshare()
            .then(|| self.hold.local().unlock(&self.hold))
    }
}

impl Drop for MutexGuard {
    fn drop(&mut self) {
        if !self.unlocked && self.hold.unshare() {
            // First: a subscriber may do anything, also panic.
            self.hold.local().release(&self.hold);
            tracing::debug!(name = %self.hold.name(), held = ?self.hold.held(), "lock released");
        }
    }
}

impl fmt::Debug for MutexGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutexGuard")
            .field("name", &self.name())
            .field("fencing_token", &self.fencing_token())
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use tracing::{Event, Metadata, Subscriber, span, subscriber};

    use crate::client::Client;

    /// Panics at the event with this number.
    struct PanicsAt(u32, AtomicU32);

    impl Subscriber for PanicsAt {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &Event<'_>) {
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            assert_ne!(number, self.0, "as told");
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn a_subscriber_that_panics_keeps_no_lock() {
        let client = Client::connect("memory://").unwrap();
        for number in [0, 1] {
            let panicked = subscriber::with_default(PanicsAt(number, AtomicU32::new(0)), || {
                catch_unwind(AssertUnwindSafe(|| drop(client.mutex("m").blocking_lock())))
            });
            assert!(panicked.is_err());
            assert!(
                !client.mutex("m").blocking_is_locked().unwrap(),
                "at event {number}"
            );
        }
    }
}
