//! Waits for a notification.

use std::time::Duration;

use super::Condvar;
use crate::base::duration::{IntoDuration, argument};
use crate::base::error::LockError;
use crate::base::task::TaskId;
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::lease::Terms;
use crate::locks::handle::{Guard, Holding};
use crate::locks::mutex::MutexGuard;
use crate::observe::BY_HAND;
use crate::queue::{Acquire, Hold, Patience, Want, Watch};
use crate::store::{Meta, Share};

/// The result of [`Condvar::wait_timeout`]: whether the call returned because its `timeout` was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the `timeout` was over before this waiter was notified.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// The store queues no waiter for a wait of zero length.
const SHORTEST: Duration = Duration::from_millis(1);

impl Condvar {
    /// Releases the lock, waits for a notification, and takes the lock again with a new fencing token. The wait for
    /// the lock has no limit. The call may also return without a notification: check the condition again.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is no longer held. [`LockError::AlreadyHeld`] if other guards share the lock
    /// (re-entry), because then `wait` could not release the lock. [`LockError::Unavailable`] and the other errors of
    /// [`Mutex::lock`](crate::Mutex::lock). After an error the guard is dropped, which releases the lock unless other
    /// guards share it. (With a [`cluster_owner`](crate::Mutex::cluster_owner), the owner's other processes still hold
    /// the lock.)
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the waiter leaves the queue, and the lock is released. If this waiter was already
    /// notified, the next waiter gets the notification.
    pub async fn wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(self.wait_at_most(guard, None, false).await?.0)
    }

    /// Like [`wait`](Self::wait), but blocks the thread. The errors are the same.
    pub fn blocking_wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(block_on(self.wait_at_most(guard, None, true))?.0)
    }

    /// Like [`wait`](Self::wait), but waits for a notification for `timeout` at most. The call may last longer than
    /// `timeout`, because it must also take the lock again.
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait), and [`LockError::InvalidOption`] for a `timeout` that is not a length of
    /// time.
    ///
    /// # Cancel safety
    ///
    /// Like [`wait`](Self::wait).
    pub async fn wait_timeout(
        &self,
        guard: MutexGuard,
        timeout: impl IntoDuration,
    ) -> Result<(MutexGuard, WaitTimeoutResult), LockError> {
        let timeout = argument("timeout", timeout)?;
        self.wait_at_most(guard, Some(timeout), false).await
    }

    /// Like [`wait_timeout`](Self::wait_timeout), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`wait_timeout`](Self::wait_timeout).
    pub fn blocking_wait_timeout(
        &self,
        guard: MutexGuard,
        timeout: impl IntoDuration,
    ) -> Result<(MutexGuard, WaitTimeoutResult), LockError> {
        let timeout = argument("timeout", timeout)?;
        block_on(self.wait_at_most(guard, Some(timeout), true))
    }

    async fn wait_at_most(
        &self,
        guard: MutexGuard,
        timeout: Option<Duration>,
        blocking: bool,
    ) -> Result<(MutexGuard, WaitTimeoutResult), LockError> {
        let place = self.register(&guard, timeout, blocking)?;
        place.registered().await;
        let (released, last) = (guard.holds().first().clone(), guard.holding.last.clone());
        let stays = guard.holding.stays();
        drop(guard);
        let notified = place.await;
        let timed_out = matches!(notified, Err(LockError::Timeout { .. }));
        let notification = match notified {
            Ok(notified) => Some(Holding::unused(notified)),
            // The caller checks its condition under the lock. If the store still fails, the acquire below says so.
            Err(LockError::Timeout { .. } | LockError::Unavailable { .. }) => None,
            Err(error) => return Err(error),
        };
        let hold = take_again(&released, blocking)?.await?;
        // Only now: a call that gives up, is dropped or dies before has not used the notification.
        drop(notification.map(Holding::leave));
        let mut holding = Holding::again(hold, last);
        holding.taken_by(TaskId::current(blocking), stays);
        Ok((holding.into(), WaitTimeoutResult(timed_out)))
    }

    fn register(
        &self,
        guard: &MutexGuard,
        timeout: Option<Duration>,
        blocking: bool,
    ) -> Result<Acquire, LockError> {
        guard.check()?;
        let hold = guard.holds().first();
        if hold.is_shared() {
            return Err(LockError::AlreadyHeld {
                name: hold.name().to_string(),
            });
        }
        let caller = Caller::current(blocking);
        let target = self.target(&caller)?;
        let patience = Patience::Queue(timeout.map(|timeout| timeout.max(SHORTEST)));
        let (share, terms) = (Share::NOTIFICATION, Terms::default());
        let mut want = target.want(&caller, share, terms, BY_HAND, patience)?;
        want.relies = true;
        target.join(&caller, &mut want, &[])
    }
}

fn take_again(released: &Hold, blocking: bool) -> Result<Acquire, LockError> {
    let member = released.local().member();
    let caller = Caller::current(blocking);
    let before = released.want();
    let mut want = Want {
        patience: Patience::Queue(None),
        // The task may hold other locks than at the first call.
        meta: Meta::holding(&before.meta, &[]),
        waited: Duration::ZERO,
        attempts: 0,
        by: caller.requester(),
        ..before.clone()
    };
    caller.sign(&mut want, released.client_id(), &[]);
    let name = released.name();
    let watch = Watch::begin(member, released.labels(), name, &want.meta, true);
    Acquire::call(Acquire::enter(member, name, &mut want), watch)
}
