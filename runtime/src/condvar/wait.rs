//! Waiting to be notified.

use std::sync::Arc;
use std::time::Duration;

use super::Condvar;
use crate::error::LockError;
use crate::handle::{Guard, Holding, Origin};
use crate::lease::{Hold, Terms};
use crate::mutex::MutexGuard;
use crate::queue::{Acquire, Past, Patience, Want, home};
use crate::store::{Owner, Share};
use crate::wait::block_on;

/// Whether [`Condvar::wait_timeout`] returned because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// `true`: the time was over; nobody had notified this waiter.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Nothing but a signal.
const SIGNALS_ONLY: u32 = 0;

impl Condvar {
    /// Releases the lock, waits until notified, and takes the lock again, with a new fencing token, for as long as that
    /// takes. It may also return for no reason: look at the condition again.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is not held any more. [`LockError::AlreadyHeld`] if other guards share its hold
    /// (re-entry): releasing this one would release nothing. [`LockError::Unavailable`] and the others of
    /// [`Mutex::lock`](crate::Mutex::lock). After an error the lock is released. (Of a
    /// [`cluster_owner`](crate::Mutex::cluster_owner) only this process's part is: the owner's other processes hold on.)
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the queue and releases the lock; a notification that had come goes to the next waiter.
    pub async fn wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(self.wait_at_most(guard, None, false).await?.0)
    }

    /// As [`wait`](Self::wait), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    pub fn blocking_wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(block_on(self.wait_at_most(guard, None, true))?.0)
    }

    /// As [`wait`](Self::wait), for `timeout` at most; taking the lock again may take longer.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    ///
    /// # Cancel safety
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_timeout(
        &self,
        guard: MutexGuard,
        timeout: Duration,
    ) -> Result<(MutexGuard, WaitTimeoutResult), LockError> {
        self.wait_at_most(guard, Some(timeout), false).await
    }

    /// As [`wait_timeout`](Self::wait_timeout), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    pub fn blocking_wait_timeout(
        &self,
        guard: MutexGuard,
        timeout: Duration,
    ) -> Result<(MutexGuard, WaitTimeoutResult), LockError> {
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
        let again = Again::of(&guard);
        drop(guard);
        let notified = woken(place.await)?;
        let hold = again.enter(blocking)?.await?;
        let timed_out = WaitTimeoutResult(matches!(notified, Woken::TimedOut));
        // Not before: who gives up on the lock, or dies, has not used the notification.
        if let Woken::Notified(notification) = notified {
            drop(notification.leave());
        }
        let holding = Holding::again(hold, again.origin, blocking);
        Ok((MutexGuard::new(holding), timed_out))
    }

    /// Joins the queue of those who wait.
    fn register(
        &self,
        guard: &MutexGuard,
        timeout: Option<Duration>,
        blocking: bool,
    ) -> Result<Acquire, LockError> {
        guard.check()?;
        let hold = only(guard);
        if hold.is_shared() {
            return Err(LockError::AlreadyHeld {
                name: hold.name().to_string(),
            });
        }
        let target = self.target()?;
        let want = Want {
            share: Share {
                takes: true,
                ..Share::of(1, SIGNALS_ONLY)
            },
            owner: None,
            terms: Terms {
                expire: None,
                at_least: Duration::ZERO,
            },
            // A place in the queue, however short.
            patience: Patience::Queue(timeout.map(|timeout| timeout.max(SHORTEST))),
            meta: self.handle.meta(&target.client)?,
            home: home(),
            relies: true,
            blocking,
            past: Past::default(),
        };
        target.enter(&want)
    }
}

/// A wait of no time at all would not be a place in the queue.
const SHORTEST: Duration = Duration::from_millis(1);

fn only(guard: &MutexGuard) -> &Arc<Hold> {
    guard.holds().first()
}

/// Why a wait ended.
enum Woken {
    /// The notification goes to the next waiter if it is dropped.
    Notified(Holding),
    TimedOut,
    /// The store is in trouble, or has lost the place in its queue: a reason to look at the condition again. The lock is asked for next, and says what is
    /// wrong.
    ForNoReason,
}

fn woken(ended: Result<Arc<Hold>, LockError>) -> Result<Woken, LockError> {
    match ended {
        Ok(notified) => Ok(Woken::Notified(Holding::unused(notified))),
        Err(LockError::Timeout { .. }) => Ok(Woken::TimedOut),
        Err(LockError::Unavailable { .. }) => Ok(Woken::ForNoReason),
        Err(error) => Err(error),
    }
}

/// How to take the lock again.
struct Again {
    released: Arc<Hold>,
    origin: Origin,
}

impl Again {
    fn of(guard: &MutexGuard) -> Self {
        Self {
            released: only(guard).clone(),
            origin: guard.holding.origin(),
        }
    }

    fn enter(&self, blocking: bool) -> Result<Acquire, LockError> {
        let grant = self.released.grant();
        let want = Want {
            share: Share {
                owner: Owner::in_store(grant.owner.as_ref()),
                ..Share::of(grant.units, grant.capacity)
            },
            owner: grant.owner.clone(),
            terms: self.released.terms(),
            patience: Patience::Queue(None),
            meta: grant.meta.clone(),
            home: home(),
            relies: false,
            blocking,
            past: Past::default(),
        };
        let member = self.released.local().member();
        member.with_local(self.released.name(), |local| local.enter(&want))?
    }
}
