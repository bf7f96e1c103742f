//! The methods that take permits.

use super::{Permit, Semaphore, share};
use crate::base::error::LockError;

impl Semaphore {
    /// Takes a permit; waits for `block` at most.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::PermitsMismatch`] if the name is in use with another number of permits, [`LockError::WrongKind`] if
    /// the name is in use as another kind of lock, [`LockError::InvalidOption`] if the semaphore has 2^30 permits or
    /// more, [`LockError::Unavailable`] when the store does not answer, and the other errors that [`LockError`]
    /// describes.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases what it was already granted.
    pub async fn acquire(&self) -> Result<Permit, LockError> {
        self.acquire_many(1).await
    }

    /// Like [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Deadlock`] if only a task of this thread could
    /// release a permit.
    pub fn blocking_acquire(&self) -> Result<Permit, LockError> {
        self.blocking_acquire_many(1)
    }

    /// Takes `n` permits at once, all or none; waits for `block` at most.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::InvalidOption`] if `n` is zero, or more than the
    /// semaphore has permits.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn acquire_many(&self, n: u32) -> Result<Permit, LockError> {
        self.handle.take(share(n, self.permits)?, None).await
    }

    /// Like [`acquire_many`](Self::acquire_many), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire_many`](Self::acquire_many) and [`blocking_acquire`](Self::blocking_acquire).
    pub fn blocking_acquire_many(&self, n: u32) -> Result<Permit, LockError> {
        self.handle.blocking_take(share(n, self.permits)?, None)
    }

    /// Takes a permit if one is free and no other caller waits for it. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), except the timeouts.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<Option<Permit>, LockError> {
        self.try_acquire_many(1).await
    }

    /// Like [`try_acquire`](Self::try_acquire), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_acquire`](Self::try_acquire).
    pub fn blocking_try_acquire(&self) -> Result<Option<Permit>, LockError> {
        self.blocking_try_acquire_many(1)
    }

    /// Takes `n` permits if they are free and no other caller waits for them. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire_many`](Self::acquire_many), except the timeouts.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn try_acquire_many(&self, n: u32) -> Result<Option<Permit>, LockError> {
        self.handle.try_take(share(n, self.permits)?).await
    }

    /// Like [`try_acquire_many`](Self::try_acquire_many), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_acquire_many`](Self::try_acquire_many).
    pub fn blocking_try_acquire_many(&self, n: u32) -> Result<Option<Permit>, LockError> {
        self.handle.blocking_try_take(share(n, self.permits)?)
    }

    /// Takes a permit, runs `body` with the permit, and releases the permit, even if `body` panics or is dropped.
    ///
    /// When the permit is lost, `body` is dropped at its next await. Write `async |permit| …`; a closure
    /// `|permit| async { … }` cannot borrow the permit.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the permit.
    pub async fn synchronize<T>(
        &self,
        body: impl AsyncFnOnce(&Permit) -> T,
    ) -> Result<T, LockError> {
        self.acquire().await?.run_body(body).await
    }

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. If the permit is lost, `body` still runs to its
    /// end, and its value is returned. Call `permit.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_acquire`](Self::blocking_acquire).
    pub fn blocking_synchronize<T>(&self, body: impl FnOnce(&Permit) -> T) -> Result<T, LockError> {
        Ok(self.blocking_acquire()?.run_blocking_body(body))
    }
}
