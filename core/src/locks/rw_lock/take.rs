//! The methods that take the lock.

use super::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::base::error::LockError;
use crate::store::Share;

impl RwLock {
    /// Takes the lock for reading; waits for `block` at most.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::AlreadyHeld`] inside a protected call of the same lock, [`LockError::WrongKind`] if the
    /// name is in use as another kind of lock, [`LockError::Unavailable`] when the store does not answer, and the
    /// other errors that [`LockError`] describes.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases what it was already granted.
    pub async fn read(&self) -> Result<RwLockReadGuard, LockError> {
        self.handle.take(Share::READER, None).await
    }

    /// Like [`read`](Self::read), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), and [`LockError::Deadlock`] if only a task of this thread could release the
    /// lock.
    pub fn blocking_read(&self) -> Result<RwLockReadGuard, LockError> {
        self.handle.blocking_take(Share::READER, None)
    }

    /// Takes the lock for reading if the call need not wait. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), except the timeouts, `AlreadyHeld` and `Deadlock`.
    ///
    /// # Cancel safety
    ///
    /// Like [`read`](Self::read).
    pub async fn try_read(&self) -> Result<Option<RwLockReadGuard>, LockError> {
        self.handle.try_take(Share::READER).await
    }

    /// Like [`try_read`](Self::try_read), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_read`](Self::try_read).
    pub fn blocking_try_read(&self) -> Result<Option<RwLockReadGuard>, LockError> {
        self.handle.blocking_try_take(Share::READER)
    }

    /// Takes the lock for reading, runs `body` with the guard, and releases the lock, even if `body` panics or is
    /// dropped.
    ///
    /// When the lock is lost, `body` is dropped at its next await. Write `async |guard| …`; a closure
    /// `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock.
    pub async fn synchronize_read<T>(
        &self,
        body: impl AsyncFnOnce(&RwLockReadGuard) -> T,
    ) -> Result<T, LockError> {
        self.read().await?.run_body(body).await
    }

    /// Like [`synchronize_read`](Self::synchronize_read), but blocks the thread. If the lock is lost, `body` still runs
    /// to its end, and its value is returned. Call `guard.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_read`](Self::blocking_read).
    pub fn blocking_synchronize_read<T>(
        &self,
        body: impl FnOnce(&RwLockReadGuard) -> T,
    ) -> Result<T, LockError> {
        Ok(self.blocking_read()?.run_blocking_body(body))
    }

    /// Takes the lock for writing; waits for `block` at most.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::AlreadyHeld`] inside a protected call of the same lock, [`LockError::WrongKind`] if the
    /// name is in use as another kind of lock, [`LockError::Unavailable`] when the store does not answer, and the
    /// other errors that [`LockError`] describes.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases what it was already granted.
    pub async fn write(&self) -> Result<RwLockWriteGuard, LockError> {
        self.handle.take(Share::WRITER, None).await
    }

    /// Like [`write`](Self::write), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), and [`LockError::Deadlock`] if only a task of this thread could release
    /// the lock.
    pub fn blocking_write(&self) -> Result<RwLockWriteGuard, LockError> {
        self.handle.blocking_take(Share::WRITER, None)
    }

    /// Takes the lock for writing if the call need not wait. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), except the timeouts, `AlreadyHeld` and `Deadlock`.
    ///
    /// # Cancel safety
    ///
    /// Like [`write`](Self::write).
    pub async fn try_write(&self) -> Result<Option<RwLockWriteGuard>, LockError> {
        self.handle.try_take(Share::WRITER).await
    }

    /// Like [`try_write`](Self::try_write), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_write`](Self::try_write).
    pub fn blocking_try_write(&self) -> Result<Option<RwLockWriteGuard>, LockError> {
        self.handle.blocking_try_take(Share::WRITER)
    }

    /// Takes the lock for writing, runs `body` with the guard, and releases the lock, even if `body` panics or is
    /// dropped.
    ///
    /// When the lock is lost, `body` is dropped at its next await. Write `async |guard| …`; a closure
    /// `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock.
    pub async fn synchronize_write<T>(
        &self,
        body: impl AsyncFnOnce(&RwLockWriteGuard) -> T,
    ) -> Result<T, LockError> {
        self.write().await?.run_body(body).await
    }

    /// Like [`synchronize_write`](Self::synchronize_write), but blocks the thread. If the lock is lost, `body` still
    /// runs to its end, and its value is returned. Call `guard.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_write`](Self::blocking_write).
    pub fn blocking_synchronize_write<T>(
        &self,
        body: impl FnOnce(&RwLockWriteGuard) -> T,
    ) -> Result<T, LockError> {
        Ok(self.blocking_write()?.run_blocking_body(body))
    }
}
