//! Operations on the locks through the handle, without a guard. Each sends the requests for all locks before awaiting
//! an answer.

use super::{MultiLock, in_order};
use crate::base::duration::{IntoDuration, refreshed};
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::locks::handle::{Handle, LockInfo, owned};
use crate::store::Op;

impl MultiLock {
    /// Asks the store whether one of the locks is held. A lock counts as held until its `at_least` is over, but not
    /// while a client [keeps](crate::Config::retain) it between calls.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn is_locked(&self) -> Result<bool, LockError> {
        Ok(self.info().await?.iter().any(|info| info.locked))
    }

    /// Like [`is_locked`](Self::is_locked), but blocks the thread. The errors are the same.
    pub fn blocking_is_locked(&self) -> Result<bool, LockError> {
        block_on(self.is_locked())
    }

    /// Asks the store whether this handle, its clones, and the protected calls around this one together hold all the
    /// locks.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The leases may be renewed. Nothing else changes.
    pub async fn is_owned(&self) -> Result<bool, LockError> {
        let mut all = true;
        for confirmed in self.each(Handle::confirm)? {
            all &= match confirmed {
                Some(confirmed) => owned(confirmed.wait().await)?,
                None => false,
            };
        }
        Ok(all)
    }

    /// Like [`is_owned`](Self::is_owned), but blocks the thread. The errors are the same.
    pub fn blocking_is_owned(&self) -> Result<bool, LockError> {
        block_on(self.is_owned())
    }

    /// Asks the store for each lock's holders, waiters, fencing token, and end of the lease. The result has the order
    /// of the given names.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn info(&self) -> Result<Vec<LockInfo>, LockError> {
        // An unusable name must fail the call before it sends any request.
        self.each(|_| Ok(()))?;
        let ask = |handle: &Handle| handle.ask(&Op::Inspect { above: 0 });
        let asked: Vec<_> = self.handles.iter().map(ask).collect::<Result<_, _>>()?;
        let mut infos = Vec::with_capacity(asked.len());
        for answer in asked {
            infos.push(LockInfo::new(&answer.wait().await?.into_record()));
        }
        Ok(infos)
    }

    /// Like [`info`](Self::info), but blocks the thread. The errors are the same.
    pub fn blocking_info(&self) -> Result<Vec<LockInfo>, LockError> {
        block_on(self.info())
    }

    /// Restarts the `expire` of the locks held by this handle or by the protected calls around this one: see
    /// [`MultiGuard::refresh`](super::MultiGuard::refresh).
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if one of the locks is not held like this, [`LockError::InvalidOption`] for less than 10 ms.
    ///
    /// # Cancel safety
    ///
    /// `expire` restarts when the future is first polled, whether or not it completes.
    pub async fn refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        let expire = refreshed(expire)?;
        for confirmed in self.each(|handle| handle.refresh(expire))? {
            confirmed.wait().await?;
        }
        Ok(())
    }

    /// Like [`refresh`](Self::refresh), but blocks the thread. The errors are the same.
    pub fn blocking_refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        block_on(self.refresh(expire))
    }

    /// Releases the locks held by this handle, its clones, or the protected calls around this one, even if several
    /// guards share them. Returns whether all the locks were held. Afterwards the guards count as lost.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the store does not answer within `store_timeout`; the releases are resent until it
    /// does.
    ///
    /// # Cancel safety
    ///
    /// The locks are released, whether or not the future completes.
    pub async fn unlock(&self) -> Result<bool, LockError> {
        let mut held = true;
        for unlocked in self.each(Handle::unlock)? {
            held &= match unlocked {
                Some(unlocked) => unlocked.wait().await?.is_some(),
                None => false,
            };
        }
        Ok(held)
    }

    /// Like [`unlock`](Self::unlock), but blocks the thread. The errors are the same.
    pub fn blocking_unlock(&self) -> Result<bool, LockError> {
        block_on(self.unlock())
    }

    /// Takes the locks away from all their holders, and returns whether there was one. They are notified: their guards
    /// are lost, and their async bodies are cancelled. Intended for operators, because a former holder may still use
    /// the protected resources for a moment.
    ///
    /// # Errors
    ///
    /// After [`LockError::Unavailable`], the locks may or may not have been taken away. Also [`LockError::ForeignKey`],
    /// and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The locks are taken away, whether or not the future completes.
    pub async fn force_unlock(&self) -> Result<bool, LockError> {
        let mut any = false;
        for answer in self.each(Handle::ask_force)? {
            any |= answer.wait().await?.count() > 0;
        }
        Ok(any)
    }

    /// Like [`force_unlock`](Self::force_unlock), but blocks the thread. The errors are the same.
    pub fn blocking_force_unlock(&self) -> Result<bool, LockError> {
        block_on(self.force_unlock())
    }

    /// Calls `act` once for each lock, in the order of the complete names.
    fn each<T>(&self, act: impl Fn(&Handle) -> Result<T, LockError>) -> Result<Vec<T>, LockError> {
        let caller = Caller::current(false);
        let resolve = |handle| Ok((handle, Handle::resolve(handle, &caller)?));
        let named = self.handles.iter().map(resolve);
        let named = in_order(named.collect::<Result<_, _>>()?, |(_, target)| &target.name)?;
        named.iter().map(|(handle, _)| act(handle)).collect()
    }
}
