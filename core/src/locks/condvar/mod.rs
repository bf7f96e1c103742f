//! [`Condvar`]: waits until another process reports a change. It has its own name with capacity 0, for which the store
//! grants only signals: waiters queue for that name, and notifications add signals.

use std::borrow::Cow;
use std::time::Duration;

use crate::base::duration::{IntoDuration, argument};
use crate::base::error::LockError;
use crate::base::name::CONDVAR;
use crate::base::task::TaskId;
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::{AcquireTarget, Guard, Handle, Holding};
use crate::locks::mutex::MutexGuard;
use crate::queue::{Acquire, Answered, Hold, Patience, Want, Watch};
use crate::store::{Op, RandomId, Share, Signal, Ticket, meta};

/// Lets the holder of a [`Mutex`](crate::Mutex) wait until any process reports a change of the protected resource.
///
/// [`wait`](Self::wait) releases the lock, and takes it again before it returns. The waiter registers first, so no
/// notification is lost. If the store forgets the waiter (after a restart without data, or because the process was
/// suspended for more than its lease), `wait` returns. Waiters are woken in order. As with any condition variable,
/// **`wait` may return without a notification**, so check the condition in a loop.
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

/// The result of [`Condvar::wait_timeout`]: whether it returned because of its `timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the `timeout` ended before this waiter was notified.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// The store queues no waiter for a wait of length zero.
const SHORTEST: Duration = Duration::from_millis(1);

impl Client {
    /// A condition variable called `name`, in this client's namespace: see [`Client::mutex`] for names.
    #[track_caller]
    pub fn condvar(&self, name: impl Into<String>) -> Condvar {
        Condvar {
            handle: Handle::new(Some(self.clone()), name),
        }
    }
}

impl Condvar {
    /// A condition variable called `name` of the client in force where it is used: see [`Client::condvar`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            handle: Handle::new(None, name),
        }
    }

    /// Wakes the waiter that has waited longest. Returns `false` if there is none. The caller need not hold the mutex.
    /// (A quorum may return `false` and still wake a waiter that is just beginning to wait.)
    ///
    /// If the woken waiter does not take the notification within two seconds, because its process died, the next waiter
    /// gets it less than a second later. The next waiter also gets it if the woken waiter does not take the lock again,
    /// because its call is dropped, or because it dies and its lease ends.
    ///
    /// # Errors
    ///
    /// After [`LockError::Unavailable`], a waiter may or may not have been woken. Also [`LockError::ForeignKey`], and
    /// the errors of an unusable client or name.
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

    /// Wakes all waiters, and returns their number. They continue one after another, as each gets the mutex.
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

    /// The client, and the name for whose signals waiters queue. It differs from a lock's name with the same text.
    fn target(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        let mut target = self.handle.resolve(caller)?;
        target.name = Cow::Owned(target.name.beside(CONDVAR));
        Ok(target)
    }

    /// Releases the lock, waits for a notification, and takes the lock again with a new fencing token, however long
    /// that takes. It may also return without a notification, so check the condition again.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is no longer held. [`LockError::AlreadyHeld`] if other guards share the lock
    /// (re-entry), because `wait` could not release it. [`LockError::Unavailable`] and the other errors of
    /// [`Mutex::lock`](crate::Mutex::lock). After an error the guard is dropped, which releases the lock unless other
    /// guards share it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the waiter leave the queue, and releases the lock. If the waiter was already notified,
    /// the next one gets the notification.
    pub async fn wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(self.wait_at_most(guard, None, false).await?.0)
    }

    /// Like [`wait`](Self::wait), but blocks the thread. The errors are the same.
    pub fn blocking_wait(&self, guard: MutexGuard) -> Result<MutexGuard, LockError> {
        Ok(block_on(self.wait_at_most(guard, None, true))?.0)
    }

    /// Like [`wait`](Self::wait), but waits up to `timeout` for a notification. The call may take longer, because it
    /// must take the lock again.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait), and [`LockError::InvalidOption`] if `timeout` is not a valid duration.
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
    /// Those of [`wait_timeout`](Self::wait_timeout).
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
            // The caller checks its condition under the lock. If the store still fails, the acquire below returns the
            // error.
            Err(LockError::Timeout { .. } | LockError::Unavailable { .. }) => None,
            Err(error) => return Err(error),
        };
        let hold = take_again(&released, blocking)?.await?;
        // Not earlier: a call that gives up, is dropped or dies before this point has not used the notification.
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
            return Err(LockError::already_held(hold.name().as_str()));
        }
        let caller = Caller::current(blocking);
        let target = self.target(&caller)?;
        let patience = Patience::Queue(timeout.map(|timeout| timeout.max(SHORTEST)));
        target.await_signal(&caller, Share::NOTIFICATION, patience)
    }
}

fn take_again(released: &Hold, blocking: bool) -> Result<Acquire, LockError> {
    let core = &released.queue.core;
    let caller = Caller::current(blocking);
    let before = released.want();
    // The task may hold different locks now than at the first call.
    let meta = meta::holding(&before.meta, &[]);
    let mut want = Want {
        owner: before.owner.clone(),
        ..Want::new(before.share, before.tenure, Patience::Queue(None), meta)
    };
    let by = caller.sign(&mut want, released.by().label, released.client_id(), &[]);
    let name = released.name();
    let watch = Watch::begin(core, released.labels(), name, &want.meta, true);
    Acquire::call(Acquire::enter(core, name, &want, by), watch)
}
