//! Asking about a lock, and acting on it without its guard.

use std::sync::Arc;
use std::time::Duration;

use super::{LockInfo, Mutex};
use crate::error::LockError;
use crate::queue::Confirmed;
use crate::store::{NameRecord, Op, Reply};
use crate::wait::Promise;

type Asked = Arc<Promise<Result<Reply, LockError>>>;

impl Mutex {
    fn ask(&self, op: &Op) -> Result<Asked, LockError> {
        let (client, name) = self.resolve()?;
        client.member().with_local(&name, |local| local.query(op))
    }

    /// Whether anybody has the lock, by the store.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing.
    pub async fn is_locked(&self) -> Result<bool, LockError> {
        Ok(self.info().await?.locked)
    }

    /// As [`is_locked`](Self::is_locked), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`is_locked`](Self::is_locked).
    pub fn blocking_is_locked(&self) -> Result<bool, LockError> {
        Ok(self.blocking_info()?.locked)
    }

    /// Whether the lock is held through this handle or its clones, or by a protected call around this one.
    /// The store confirms it.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], and those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// At most the lease is renewed.
    pub async fn is_owned(&self) -> Result<bool, LockError> {
        match self.confirm()? {
            Some(confirmed) => owned(confirmed.wait().await),
            None => Ok(false),
        }
    }

    /// As [`is_owned`](Self::is_owned), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`is_owned`](Self::is_owned).
    pub fn blocking_is_owned(&self) -> Result<bool, LockError> {
        match self.confirm()? {
            Some(confirmed) => owned(confirmed.blocking_wait()),
            None => Ok(false),
        }
    }

    fn confirm(&self) -> Result<Option<Confirmed>, LockError> {
        Ok(self.held_here()?.and_then(|hold| hold.local().renew(&hold)))
    }

    /// What this handle or a protected call around has of this lock.
    fn held_here(&self) -> Result<Option<Arc<crate::lease::Hold>>, LockError> {
        let (client, name) = self.resolve()?;
        let inside = crate::task::find(client.id(), &name).filter(|hold| hold.is_valid());
        Ok(inside.or_else(|| self.holding()))
    }

    /// Who has the lock, who waits, the fencing token, when the lease ends.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing.
    pub async fn info(&self) -> Result<LockInfo, LockError> {
        info(self.ask(&Op::Inspect)?.wait().await)
    }

    /// As [`info`](Self::info), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`info`](Self::info).
    pub fn blocking_info(&self) -> Result<LockInfo, LockError> {
        info(self.ask(&Op::Inspect)?.blocking_wait())
    }

    /// Lets `expire` of what is held through this handle count again from now: see
    /// [`MutexGuard::refresh`](super::MutexGuard::refresh).
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if nothing is held through it, [`LockError::InvalidOption`] for less than 10 ms.
    ///
    /// # Cancel safety
    ///
    /// `expire` counts again from the call, whether or not the future completes.
    pub async fn refresh(&self, expire: Duration) -> Result<(), LockError> {
        self.refreshing(expire)?.wait().await
    }

    /// As [`refresh`](Self::refresh), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`refresh`](Self::refresh).
    pub fn blocking_refresh(&self, expire: Duration) -> Result<(), LockError> {
        self.refreshing(expire)?.blocking_wait()
    }

    fn refreshing(&self, expire: Duration) -> Result<Confirmed, LockError> {
        let not_held = || -> Result<LockError, LockError> {
            Ok(LockError::Lost {
                name: self.resolve()?.1.to_string(),
                held: Duration::ZERO,
            })
        };
        let Some(hold) = self.held_here()? else {
            return Err(not_held()?);
        };
        match hold.local().refresh(&hold, expire)? {
            Some(confirmed) => Ok(confirmed),
            None => Err(hold.lost_error()),
        }
    }

    /// Releases what is held through this handle or its clones, however many guards share it, and says whether it
    /// was held. The guards know that it is over.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the store does not answer within `patience`; the release is sent until it
    /// does.
    ///
    /// # Cancel safety
    ///
    /// The lock is released, whether or not the future completes.
    pub async fn unlock(&self) -> Result<bool, LockError> {
        match self.held_here()? {
            Some(hold) => Ok(hold.local().unlock(&hold).wait().await?.is_some()),
            None => Ok(false),
        }
    }

    /// As [`unlock`](Self::unlock), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`unlock`](Self::unlock).
    pub fn blocking_unlock(&self) -> Result<bool, LockError> {
        match self.held_here()? {
            Some(hold) => Ok(hold.local().unlock(&hold).blocking_wait()?.is_some()),
            None => Ok(false),
        }
    }

    /// Breaks the lock, whoever has it, and says whether anybody had it. The former holder is told: its guard is
    /// lost, its async body cancelled. For operators; what the lock protects may still be in use for
    /// a moment.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`]: then the lock may or may not be broken. [`LockError::ForeignKey`], and
    /// those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The lock is broken, whether or not the future completes.
    pub async fn force_unlock(&self) -> Result<bool, LockError> {
        forced(self.ask(&force())?.wait().await)
    }

    /// As [`force_unlock`](Self::force_unlock), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`force_unlock`](Self::force_unlock).
    pub fn blocking_force_unlock(&self) -> Result<bool, LockError> {
        forced(self.ask(&force())?.blocking_wait())
    }
}

fn force() -> Op {
    Op::Force {
        owner: Arc::default(),
    }
}

fn info(reply: Result<Reply, LockError>) -> Result<LockInfo, LockError> {
    match reply? {
        Reply::Info(record) => Ok(LockInfo::new(&record)),
        _ => Ok(LockInfo::new(&NameRecord::default())),
    }
}

fn forced(reply: Result<Reply, LockError>) -> Result<bool, LockError> {
    Ok(matches!(reply?, Reply::Freed { holders } if holders > 0))
}

fn owned(confirmed: Result<(), LockError>) -> Result<bool, LockError> {
    match confirmed {
        Ok(()) => Ok(true),
        Err(LockError::Lost { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
