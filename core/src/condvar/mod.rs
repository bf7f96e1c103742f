//! [`Condvar`]: waits until another process reports a change.
//!
//! A condition variable has a name of its own with capacity 0, so the store grants only signals for this name. A waiter
//! takes a place in the queue of that name; a notification adds signals. So waiters wake in order, and no waiter polls.
//! If a dead waiter does not take its signal, the next waiter gets the signal. [`wait`] has the methods that wait,
//! [`notify`] the methods that wake waiters.

mod notify;
mod wait;

use std::borrow::Cow;

use crate::caller::Caller;
use crate::client::Client;
use crate::error::LockError;
use crate::handle::{AcquireTarget, Address};
use crate::name::CONDVAR;

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
    address: Address,
}

impl Client {
    /// A condition variable called `name`, in this client's namespace: see [`Client::mutex`] about names.
    #[track_caller]
    pub fn condvar(&self, name: impl Into<String>) -> Condvar {
        Condvar {
            address: Address::new(Some(self.clone()), name),
        }
    }
}

impl Condvar {
    /// A condition variable called `name`, of the client that is in force where the condition variable is used: see
    /// [`Client::condvar`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            address: Address::new(None, name),
        }
    }

    /// Finds the client and the name for whose signals the waiters queue. In the store, this name differs from that of a
    /// lock with the same name.
    fn target(&self, caller: &Caller) -> Result<AcquireTarget<'_>, LockError> {
        let mut target = self.address.resolve(caller)?;
        target.name = Cow::Owned(target.name.beside(CONDVAR));
        Ok(target)
    }
}
