//! [`Condvar`]: waits until another process reports a change. It has a name of its own with capacity 0, for which the
//! store grants only signals: waiters queue for that name, and notifications add signals.

mod wait;

use std::borrow::Cow;

use crate::base::error::LockError;
use crate::base::name::CONDVAR;
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::{AcquireTarget, Handle};
use crate::queue::Answered;
use crate::store::{Op, Reply, Signal, Ticket};

pub use wait::WaitTimeoutResult;

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
        Ok(count(&self.notify(Signal::One)?.wait().await?) > 0)
    }

    /// Like [`notify_one`](Self::notify_one), but blocks the thread. The errors are the same.
    pub fn blocking_notify_one(&self) -> Result<bool, LockError> {
        Ok(count(&self.notify(Signal::One)?.blocking_wait()?) > 0)
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
        Ok(count(&self.notify(Signal::All)?.wait().await?))
    }

    /// Like [`notify_all`](Self::notify_all), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`notify_one`](Self::notify_one).
    pub fn blocking_notify_all(&self) -> Result<u64, LockError> {
        Ok(count(&self.notify(Signal::All)?.blocking_wait()?))
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
}

fn count(reply: &Reply) -> u64 {
    match reply {
        Reply::Signalled { count } => *count,
        _ => 0,
    }
}
