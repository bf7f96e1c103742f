//! The methods that take the lock.

use super::{Mutex, MutexGuard};
use crate::base::error::LockError;
use crate::store::Share;

impl Mutex {
    /// Takes the lock; waits for `block` at most.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::AlreadyHeld`] inside a protected call of the same lock, [`LockError::Unavailable`] when the
    /// store does not answer, and the other errors that [`LockError`] describes.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases what it was already granted.
    pub async fn lock(&self) -> Result<MutexGuard, LockError> {
        self.handle.take(Share::MUTEX, None).await
    }

    /// Like [`lock`](Self::lock), but blocks the thread.
    ///
    /// Do not block the thread of a single-threaded runtime: if another task of that thread holds the lock, that task
    /// could never release the lock. In that case this call returns [`LockError::Deadlock`].
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Deadlock`].
    pub fn blocking_lock(&self) -> Result<MutexGuard, LockError> {
        self.handle.blocking_take(Share::MUTEX, None)
    }

    /// Takes the lock if it is free, without waiting. Returns `None` if another caller holds the lock, or if this task
    /// holds the lock and the handle is not [`reentrant`](Self::reentrant).
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), except the timeouts, `AlreadyHeld` and `Deadlock`.
    ///
    /// # Cancel safety
    ///
    /// Like [`lock`](Self::lock).
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        self.handle.try_take(Share::MUTEX).await
    }

    /// Like [`try_lock`](Self::try_lock), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        self.handle.blocking_try_take(Share::MUTEX)
    }

    /// Takes the lock, runs `body` with the guard, and releases the lock, even if `body` panics or is dropped.
    ///
    /// In `body`, a call of the same task for the same lock re-enters if its handle is [`reentrant`](Self::reentrant).
    /// When the lock is lost, `body` is dropped at its next await. Write `async |guard| …`; a closure
    /// `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let token = client.mutex("reports").synchronize(async |guard| guard.fencing_token()).await?;
    /// assert!(token > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn synchronize<T>(
        &self,
        body: impl AsyncFnOnce(&MutexGuard) -> T,
    ) -> Result<T, LockError> {
        self.lock().await?.run_body(body).await
    }

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. If the lock is lost, `body` still runs to its
    /// end, and its value is returned. Call `guard.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_lock`](Self::blocking_lock).
    pub fn blocking_synchronize<T>(
        &self,
        body: impl FnOnce(&MutexGuard) -> T,
    ) -> Result<T, LockError> {
        Ok(self.blocking_lock()?.run_blocking_body(body))
    }
}
