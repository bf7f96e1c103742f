//! Counts the free permits of a semaphore, checks whether it exists, and deletes it.

use super::{Semaphore, check};
use crate::base::error::{LockError, LockKind};
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::store::{NameRecord, Op, Reply};

impl Semaphore {
    /// Asks the store for the number of free permits and tokens. The number may change at any time.
    ///
    /// # Errors
    ///
    /// [`LockError::PermitsMismatch`] if the name is in use with another number of permits, [`LockError::WrongKind`] if
    /// the name is in use as another kind of lock, [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of
    /// an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn available(&self) -> Result<u32, LockError> {
        let record = self.inspect().await?;
        if let Some(found) = record.capacity.filter(|found| *found != self.permits) {
            let found = (LockKind::of(found, record.takes()), found);
            let expected = (LockKind::Semaphore, self.permits);
            return Err(LockError::mismatch(self.name()?, expected, found));
        }
        Ok(free(&record, self.permits))
    }

    /// Like [`available`](Self::available), but blocks the thread. The errors are the same.
    pub fn blocking_available(&self) -> Result<u32, LockError> {
        block_on(self.available())
    }

    /// Asks the store whether the semaphore exists. It exists if it has tokens, or if it was used and has not been
    /// deleted since. The store forgets a semaphore that has had no holders, waiters and tokens for ten minutes or more.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn exists(&self) -> Result<bool, LockError> {
        Ok(self.inspect().await?.exists)
    }

    /// Like [`exists`](Self::exists), but blocks the thread. The errors are the same.
    pub fn blocking_exists(&self) -> Result<bool, LockError> {
        block_on(self.exists())
    }

    /// Deletes the semaphore and its tokens. Returns `false` if there was nothing to delete.
    ///
    /// # Errors
    ///
    /// [`LockError::InUse`] while a caller holds or waits for a permit. [`LockError::Unavailable`]: the call may or
    /// may not have deleted the semaphore. [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The semaphore is deleted, whether or not the future completes, unless it is in use.
    pub async fn delete(&self) -> Result<bool, LockError> {
        check(self.permits)?;
        match self.handle.ask(&Op::Delete)?.wait().await? {
            Reply::InUse { holders, waiters } => Err(LockError::InUse {
                name: self.name()?,
                holders,
                waiters,
            }),
            reply => Ok(matches!(reply, Reply::Deleted { existed: true })),
        }
    }

    /// Like [`delete`](Self::delete), but blocks the thread. The errors are the same.
    pub fn blocking_delete(&self) -> Result<bool, LockError> {
        block_on(self.delete())
    }

    async fn inspect(&self) -> Result<NameRecord, LockError> {
        check(self.permits)?;
        self.handle.inspect().await
    }

    fn name(&self) -> Result<String, LockError> {
        let target = self.handle.resolve(&Caller::current(false))?;
        Ok(target.name.to_string())
    }
}

pub(super) fn free(record: &NameRecord, permits: u32) -> u32 {
    let left = u64::from(permits).saturating_sub(record.used);
    u32::try_from(left.saturating_add(record.signals)).unwrap_or(u32::MAX)
}
