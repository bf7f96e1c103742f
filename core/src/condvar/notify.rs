//! The methods that wake waiters.

use super::Condvar;
use crate::caller::Caller;
use crate::error::LockError;
use crate::queue::Answered;
use crate::store::{Op, Reply, Signal, Ticket};

impl Condvar {
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
}

fn count(reply: &Reply) -> u64 {
    match reply {
        Reply::Signalled { count } => *count,
        _ => 0,
    }
}
