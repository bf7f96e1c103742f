//! [`RwLockReadGuard`] and [`RwLockWriteGuard`].

use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::handle::{Holding, guard_methods, single_guard_methods, unlock_methods};
use crate::store::Share;

/// A lock that is held for reading, together with any other readers. Dropping the guard releases the lock in the
/// background, from any thread, with or without a runtime.
///
/// The lock can be lost while the guard exists, like the lock of a [`MutexGuard`](crate::MutexGuard): see
/// [`is_lost`](Self::is_lost), [`check`](Self::check) and [`lost`](Self::lost).
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockReadGuard {
    pub(super) holding: Holding,
}

single_guard_methods!(RwLockReadGuard);
guard_methods!(RwLockReadGuard);
unlock_methods!(RwLockReadGuard);

/// A lock that is held for writing, by one holder. Dropping the guard releases the lock in the background, from any
/// thread, with or without a runtime.
///
/// The lock can be lost while the guard exists, like the lock of a [`MutexGuard`](crate::MutexGuard): see
/// [`is_lost`](Self::is_lost), [`check`](Self::check) and [`lost`](Self::lost).
#[must_use = "if unused, the lock is released at once"]
pub struct RwLockWriteGuard {
    pub(super) holding: Holding,
}

single_guard_methods!(RwLockWriteGuard);
guard_methods!(RwLockWriteGuard);
unlock_methods!(RwLockWriteGuard);

impl RwLockWriteGuard {
    /// Turns the guard into a guard for reading. Other readers may then get the lock. No writer can get the lock in
    /// between. A guard for reading cannot become a guard for writing again.
    ///
    /// Waits until the store has confirmed the change. If the store does not answer within `store_timeout`, the guard
    /// becomes a guard for reading nevertheless, and the next renewal reports the change to the store. If other guards
    /// share the hold (re-entry), the lock stays held for writing.
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
        if !hold.is_shared()
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
