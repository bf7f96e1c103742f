//! [`Condvar`]: waits until another process reports a change. It has a name of its own with capacity 0, for which the
//! store grants only signals: waiters queue for that name, and notifications add signals.

use std::borrow::Cow;
use std::time::Duration;

use crate::base::duration::{IntoDuration, argument};
use crate::base::error::LockError;
use crate::base::name::CONDVAR;
use crate::base::task::TaskId;
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::lease::Terms;
use crate::locks::client::Client;
use crate::locks::handle::{AcquireTarget, Guard, Handle, Holding};
use crate::locks::mutex::MutexGuard;
use crate::observe::BY_HAND;
use crate::queue::{Acquire, Answered, Hold, Patience, Want, Watch};
use crate::store::{Op, Share, Signal, Ticket, meta};

/// Lets the holder of a [`Mutex`](crate::Mutex) wait until any process reports a change of the protected resource.
///
/// [`wait`](Self::wait) releases the lock, and takes it again before it returns. The waiter registers before it
/// releases the lock, so no notification is lost. If the store forgets the waiter (after a restart without data, or if
/// the process was suspended for longer than its lease), `wait` returns. Waiters are woken in order. As with every
/// condition variable, **`wait` may return without a notification**: check the condition in a loop.
///
/// All waiters should use the same mutex. The mutex and the condition variable may have the same name.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let (here, there) = (Client::connect("memory://jobs")?, Client::connect("memory://jobs")?);
/// let jobs = std::sync::Arc::new(std::sync::Mutex::new(Vec::new())); // in reality: a table, a file
/// let consumer = tokio::spawn({
///     let jobs = jobs.clone();
///     async move {
///         let mut guard = here.mutex("jobs").lock().await?;
///         loop {
///             let job = jobs.lock().unwrap().pop();
///             if let Some(job) = job {
///                 return Ok::<u32, auto_mutex::LockError>(job);
///             }
///             guard = here.condvar("jobs").wait(guard).await?;
///         }
///     }
/// });
/// let guard = there.mutex("jobs").lock().await?;
/// jobs.lock().unwrap().push(17);
/// there.condvar("jobs").notify_one().await?;
/// drop(guard);
/// assert_eq!(consumer.await??, 17);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is used"]
pub struct Condvar {
    handle: Handle,
}

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

impl Client {
    /// A condition variable called `name`, in this client's namespace: see [`Client::mutex`] about names.
    #[track_caller]
    pub fn condvar(&self, name: impl Into<String>) -> Condvar {
        Condvar {
            handle: Handle::new(Some(self.clone()), name),
        }
    }
}

impl Condvar {
    /// A condition variable called `name`, of the client that is in force where the condition variable is used: see
    /// [`Client::condvar`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            handle: Handle::new(None, name),
        }
    }

    /// Wakes the waiter that has waited longest. Returns `false` if there is no waiter. The caller need not hold the
    /// mutex. (A quorum may also wake a waiter that begins to wait at this moment, and return `false`.)
    ///
    /// If the woken waiter does not take the notification within two seconds (its process died), the next waiter gets
    /// the notification less than a second later. The next waiter also gets the notification if the woken waiter does
    /// not take the lock again: because its call is dropped, or because it dies and its lease ends.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`]: the call may or may not have woken a waiter. [`LockError::ForeignKey`], and the
    /// errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The notification is sent, whether or not the future completes.
    pub async fn notify_one(&self) -> Result<bool, LockError> {
        Ok(self.notify(Signal::One)?.wait().await?.count() > 0)
    }

    /// Like [`notify_one`](Self::notify_one), but blocks the thread. The errors are the same.
    pub fn blocking_notify_one(&self) -> Result<bool, LockError> {
        Ok(self.notify(Signal::One)?.blocking_wait()?.count() > 0)
    }

    /// Wakes all waiters, and returns their number. Each waiter continues when it gets the mutex, one after another.
    ///
    /// # Errors
    ///
    /// The errors of [`notify_one`](Self::notify_one).
    ///
    /// # Cancel safety
    ///
    /// Like [`notify_one`](Self::notify_one).
    pub async fn notify_all(&self) -> Result<u64, LockError> {
        Ok(self.notify(Signal::All)?.wait().await?.count())
    }

    /// Like [`notify_all`](Self::notify_all), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`notify_one`](Self::notify_one).
    pub fn blocking_notify_all(&self) -> Result<u64, LockError> {
        Ok(self.notify(Signal::All)?.blocking_wait()?.count())
    }

    fn notify(&self, signal: Signal) -> Result<Answered, LockError> {
        let ticket = Ticket::random();
        self.target(&Caller::current(false))?
            .ask(&Op::Signal { ticket, signal })
    }

    /// The client and the name for whose signals the waiters queue: not that of a lock with the same name.
    fn target(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        let mut target = self.handle.resolve(caller)?;
        target.name = Cow::Owned(target.name.beside(CONDVAR));
        Ok(target)
    }

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
        let waiter = self.register(&guard, timeout, blocking)?;
        waiter.registered().await;
        let (released, last) = (guard.holds().first().clone(), guard.holding.last.clone());
        let stays = guard.holding.stays();
        drop(guard);
        let notified = waiter.await;
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
        if hold.has_other_guards() {
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
    let core = &released.queue.core;
    let caller = Caller::current(blocking);
    let before = released.want();
    let mut want = Want {
        patience: Patience::Queue(None),
        // The task may hold other locks than at the first call.
        meta: meta::holding(&before.meta, &[]),
        waited: Duration::ZERO,
        attempts: 0,
        by: caller.requester(),
        ..before.clone()
    };
    caller.sign(&mut want, released.client_id(), &[]);
    let name = released.name();
    let watch = Watch::begin(core, released.labels(), name, &want.meta, true);
    Acquire::call(Acquire::enter(core, name, &mut want), watch)
}
