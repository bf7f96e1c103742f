//! How many permits are left.

use super::Semaphore;
use crate::error::LockError;
use crate::handle::inspected;
use crate::store::{NameRecord, Op};
use crate::wait::block_on;

impl Semaphore {
    /// How many permits are free, by the store. True for that moment only.
    ///
    /// # Errors
    ///
    /// [`LockError::PermitsMismatch`] if the name is in use with another number of permits,
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing.
    pub async fn available(&self) -> Result<u32, LockError> {
        let reply = self.handle.ask(&Op::Inspect)?.wait().await?;
        self.left(&inspected(reply))
    }

    /// As [`available`](Self::available), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`available`](Self::available).
    pub fn blocking_available(&self) -> Result<u32, LockError> {
        block_on(self.available())
    }

    fn left(&self, record: &NameRecord) -> Result<u32, LockError> {
        if let Some(found) = record.capacity
            && found != self.permits
        {
            return Err(LockError::PermitsMismatch {
                name: self.handle.resolve()?.name.to_string(),
                expected: self.permits,
                found,
            });
        }
        Ok(free(record, self.permits))
    }
}

/// What is free of `permits`.
pub(super) fn free(record: &NameRecord, permits: u32) -> u32 {
    let held = record.holders.iter().map(|holder| holder.units);
    held.fold(permits, u32::saturating_sub)
}
