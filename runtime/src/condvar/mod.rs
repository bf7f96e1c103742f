//! [`Condvar`]: waiting, across processes, for somebody to say that something has changed.
//!
//! A waiter is a ticket in the queue of a name of the condition variable's own, whose capacity is 0: nothing but
//! signals can be had there. To notify is to signal to those who wait. So the queue is in order, a notification that a
//! dead waiter does not take goes to the next one, and nothing is polled. Waiting is in [`wait`], notifying in
//! [`notify`].

mod notify;
mod wait;

use std::borrow::Cow;

use crate::client::Client;
use crate::error::LockError;
use crate::handle::{AcquireTarget, Address};

pub use wait::WaitTimeoutResult;

/// Lets the holder of a [`Mutex`](crate::Mutex) wait until somebody, in whatever process, says that what it protects has
/// changed.
///
/// Waiting releases the lock, and takes it again before it returns. It registers first and then releases, so
/// that no notification is lost; if the store forgets it (a restart without data, a process that was suspended for longer
/// than its lease), the wait returns. Waiters are woken in order. As with every condition variable, **a wait may return
/// without a notification**: look at the condition again, in a loop.
///
/// All waiters should use the same mutex. The condition variable's name is its own: it may be the same as the mutex's.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let (here, there) = (Client::connect("memory://jobs")?, Client::connect("memory://jobs")?);
/// let jobs = std::sync::Arc::new(std::sync::Mutex::new(Vec::new())); // in truth: a table, a file
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
    pub fn condvar(&self, name: impl Into<String>) -> Condvar {
        Condvar {
            address: Address::new(Some(self.clone()), name),
        }
    }
}

impl Condvar {
    /// A condition variable called `name`, of the client in force where it is used: see [`Client::condvar`].
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            address: Address::new(None, name),
        }
    }

    /// The name that its waiters queue for, which is not that of a lock of the same name.
    fn target(&self) -> Result<AcquireTarget<'_>, LockError> {
        let mut target = self.address.resolve()?;
        target.name = Cow::Owned(target.name.beside("condvar"));
        Ok(target)
    }
}
