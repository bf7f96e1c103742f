//! The methods that take the lock.

use super::{Mutex, MutexGuard, ONE_OF_ONE};
use crate::error::LockError;

impl Mutex {
    /// Takes the lock; waits as long as `block` says.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::AlreadyHeld`] inside a protected call of the same lock, [`LockError::Unavailable`] when the
    /// store does not answer, and the others that [`LockError`] describes.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the queue, or gives back what was granted meanwhile.
    pub async fn lock(&self) -> Result<MutexGuard, LockError> {
        let taken = self.handle.take(&self.options, ONE_OF_ONE).await;
        taken.map(MutexGuard::new)
    }

    /// As [`lock`](Self::lock), blocking the thread.
    ///
    /// On the thread of a single-threaded runtime, a lock that one of the runtime's tasks holds could never become free
    /// while this call blocks: it returns [`LockError::Deadlock`] instead.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock), and [`LockError::Deadlock`].
    pub fn blocking_lock(&self) -> Result<MutexGuard, LockError> {
        let taken = self.handle.blocking_take(&self.options, ONE_OF_ONE);
        taken.map(MutexGuard::new)
    }

    /// Takes the lock if it is free, without waiting; `None` if somebody holds it.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock) but the timeouts.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Self::lock).
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        let tried = self.handle.try_take(&self.options, ONE_OF_ONE).await?;
        Ok(tried.map(MutexGuard::new))
    }

    /// As [`try_lock`](Self::try_lock), blocking the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// Those of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        let tried = self.handle.blocking_try_take(&self.options, ONE_OF_ONE)?;
        Ok(tried.map(MutexGuard::new))
    }
}
