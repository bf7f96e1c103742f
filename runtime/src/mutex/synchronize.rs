//! Running a body under the lock.

use super::{Mutex, MutexGuard};
use crate::error::LockError;
use crate::task;

impl Mutex {
    /// Takes the lock, runs `body` with the guard, and releases the lock, even if `body` panics or is dropped.
    ///
    /// Inside, calls of the same lock by the same task re-enter. When the lock is lost, `body` is dropped at its next
    /// await. Write `async |guard| …`; a closure `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock), and [`LockError::Lost`].
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
        let guard = self.lock().await?;
        task::run(guard.holding.holds().clone(), body(&guard)).await
    }

    /// As [`synchronize`](Self::synchronize), blocking the thread. If the lock is lost, `body` still runs to its end and
    /// its value is returned: call `guard.check()`.
    ///
    /// # Errors
    ///
    /// Those of [`blocking_lock`](Self::blocking_lock).
    pub fn blocking_synchronize<T>(
        &self,
        body: impl FnOnce(&MutexGuard) -> T,
    ) -> Result<T, LockError> {
        let guard = self.blocking_lock()?;
        let _entered = task::enter(guard.holding.holds());
        Ok(body(&guard))
    }
}
