//! What a mutex can do through its handle, without the guard.

use super::Mutex;
use crate::base::duration::{IntoDuration, refreshed};
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::handle::{freed, inspected, owned};
use crate::store::{Op, Reply};

impl Mutex {
    /// Asks the store whether this handle, one of its clones, or a protected call around this call holds the lock.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The lease may be renewed. Nothing else changes.
    pub async fn is_owned(&self) -> Result<bool, LockError> {
        if let Some(confirmed) = self.handle.confirm()?
            && owned(confirmed.wait().await)?
        {
            return Ok(true);
        }
        match self.handle.ask_for_owner(|_| Op::Inspect)? {
            Some(asked) => Ok(self.handle.is_owner(&inspected(asked.wait().await?))),
            None => Ok(false),
        }
    }

    /// Like [`is_owned`](Self::is_owned), but blocks the thread. The errors are the same.
    pub fn blocking_is_owned(&self) -> Result<bool, LockError> {
        block_on(self.is_owned())
    }

    /// Restarts the `expire` of the lock that this handle, one of its clones, or a protected call around this call holds:
    /// see [`MutexGuard::refresh`](super::MutexGuard::refresh).
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if none of them holds the lock, [`LockError::InvalidOption`] for less than 10 ms,
    /// [`LockError::Unavailable`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// `expire` restarts when the future is first polled, whether or not it completes.
    pub async fn refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        let expire = refreshed(expire)?;
        let elsewhere = |owner| Op::Refresh { owner, expire };
        match self.handle.ask_for_owner(elsewhere)? {
            Some(asked) => match asked.wait().await? {
                Reply::Told { holders } if holders > 0 => Ok(()),
                _ => Err(self.handle.not_held()?),
            },
            None => self.handle.refresh(expire)?.wait().await,
        }
    }

    /// Like [`refresh`](Self::refresh), but blocks the thread. The errors are the same.
    pub fn blocking_refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        block_on(self.refresh(expire))
    }

    /// Releases the lock if this handle, one of its clones, or a protected call around this call holds it, even if several
    /// guards share the lock. Returns whether the lock was held. After that, the guards count as lost.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the store does not answer within `store_timeout`; the release is sent again until
    /// the store answers.
    ///
    /// # Cancel safety
    ///
    /// The lock is released, whether or not the future completes.
    pub async fn unlock(&self) -> Result<bool, LockError> {
        let here = self.handle.unlock()?;
        let elsewhere = self.handle.ask_for_owner(|owner| Op::Force { owner })?;
        let mut held = false;
        if let Some(unlocked) = here {
            held |= unlocked.wait().await?.is_some();
        }
        if let Some(asked) = elsewhere {
            held |= freed(&asked.wait().await?);
        }
        Ok(held)
    }

    /// Like [`unlock`](Self::unlock), but blocks the thread. The errors are the same.
    pub fn blocking_unlock(&self) -> Result<bool, LockError> {
        block_on(self.unlock())
    }
}
