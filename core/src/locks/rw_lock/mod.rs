//! [`RwLock`]: any number of readers, or one writer, in the whole cluster.

use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::client::Client;
use crate::locks::handle::{Handle, Holding, option_methods, query_methods, retain_method};
use crate::locks::handle::{guard_methods, single_guard_methods, unlock_methods};
use crate::store::Share;

/// A lock that any number of readers, or one writer, may hold at a time in the whole cluster.
///
/// Readers and writers wait in one queue, in order of arrival, so that neither starve. A reader that arrives while a
/// writer waits gets the lock after that writer. Adjacent readers in the queue get the lock together.
///
/// A reader cannot become a writer: a task that holds the lock for reading and asks to write would wait for itself.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let table = client.rw_lock("table");
/// let (one, other) = (table.read().await?, table.read().await?);
/// assert!(table.try_write().await?.is_none());
/// one.unlock().await?;
/// other.unlock().await?;
/// let writer = table.write().await?;
/// assert!(table.try_read().await?.is_none());
/// # drop(writer);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct RwLock {
    handle: Handle,
}

impl Client {
    /// A readers-writer lock called `name`, in this client's namespace: see [`mutex`](Self::mutex) for names.
    #[track_caller]
    pub fn rw_lock(&self, name: impl Into<String>) -> RwLock {
        let handle = Handle::new(Some(self.clone()), name);
        RwLock { handle }
    }
}

impl RwLock {
    /// A readers-writer lock called `name` of the client in force where it is used: see [`Client::rw_lock`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let handle = Handle::new(None, name);
        Self { handle }
    }

    /// Takes the lock for reading, waiting up to `block`.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] after `block`, [`LockError::TooManyAttempts`] after `retries`, [`LockError::AlreadyHeld`]
    /// inside a protected call of the same lock, [`LockError::WrongKind`] if the name is in use as another kind of
    /// lock, [`LockError::Unavailable`] if the store does not answer, and other variants of [`LockError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the call leave the queue, or releases what it was already granted.
    pub async fn read(&self) -> Result<RwLockReadGuard, LockError> {
        self.handle.take(Share::READER, false).await
    }

    /// Like [`read`](Self::read), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), and [`LockError::Deadlock`] if only a task of this thread could release the
    /// lock.
    pub fn blocking_read(&self) -> Result<RwLockReadGuard, LockError> {
        self.handle.blocking_take(Share::READER, false)
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

    /// Like [`synchronize_read`](Self::synchronize_read), but blocks the thread. After a loss of the lock, `body` still
    /// runs to its end, and its value is returned. Call `guard.check()` to notice the loss.
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

    /// Takes the lock for writing, waiting up to `block`.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] after `block`, [`LockError::TooManyAttempts`] after `retries`, [`LockError::AlreadyHeld`]
    /// inside a protected call of the same lock, [`LockError::WrongKind`] if the name is in use as another kind of
    /// lock, [`LockError::Unavailable`] if the store does not answer, and other variants of [`LockError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the call leave the queue, or releases what it was already granted.
    pub async fn write(&self) -> Result<RwLockWriteGuard, LockError> {
        self.handle.take(Share::WRITER, false).await
    }

    /// Like [`write`](Self::write), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), and [`LockError::Deadlock`] if only a task of this thread could release
    /// the lock.
    pub fn blocking_write(&self) -> Result<RwLockWriteGuard, LockError> {
        self.handle.blocking_take(Share::WRITER, false)
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

    /// Like [`synchronize_write`](Self::synchronize_write), but blocks the thread. After a loss of the lock, `body`
    /// still runs to its end, and its value is returned. Call `guard.check()` to notice the loss.
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

option_methods!(RwLock, handle.options);
retain_method!(RwLock);
query_methods!(RwLock);

/// A lock held for reading, perhaps by other readers as well. Dropping the guard releases the lock in the background,
/// from any thread, with or without a runtime.
///
/// The lock can be lost while the guard exists, like the lock of a [`MutexGuard`](crate::MutexGuard): see
/// [`is_lost`](Self::is_lost), [`check`](Self::check) and [`lost`](Self::lost).
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockReadGuard {
    holding: Holding,
}

single_guard_methods!(RwLockReadGuard);
guard_methods!(RwLockReadGuard);
unlock_methods!(RwLockReadGuard);

/// A lock held for writing, by one holder. Dropping the guard releases the lock in the background, from any thread,
/// with or without a runtime.
///
/// The lock can be lost while the guard exists, like the lock of a [`MutexGuard`](crate::MutexGuard): see
/// [`is_lost`](Self::is_lost), [`check`](Self::check) and [`lost`](Self::lost).
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockWriteGuard {
    holding: Holding,
}

single_guard_methods!(RwLockWriteGuard);
guard_methods!(RwLockWriteGuard);
unlock_methods!(RwLockWriteGuard);

impl RwLockWriteGuard {
    /// Turns the guard into a guard for reading. Other readers may then get the lock, but no writer in between. There
    /// is no way back to a guard for writing.
    ///
    /// Waits until the store has confirmed the change. If it does not answer within `store_timeout`, the guard becomes
    /// a guard for reading anyway, and the next renewal informs the store. If other guards share the hold (re-entry),
    /// the lock stays held for writing.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the lock is no longer held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future releases the lock.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let table = client.rw_lock("table");
    /// let writer = table.write().await?;
    /// let reader = writer.downgrade().await?;
    /// assert!(table.try_read().await?.is_some());
    /// # drop(reader);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn downgrade(self) -> Result<RwLockReadGuard, LockError> {
        let hold = self.holding.first();
        if !hold.has_other_guards()
            && let Some(confirmed) = hold.downgrade(Share::READER.units)
        {
            let _ = confirmed.wait().await;
        }
        self.check()?;
        Ok(self.holding.into())
    }

    /// Like [`downgrade`](Self::downgrade), but blocks the thread. The errors are the same.
    pub fn blocking_downgrade(self) -> Result<RwLockReadGuard, LockError> {
        block_on(self.downgrade())
    }
}
