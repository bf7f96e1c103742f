//! Asks the store about a lock, and takes a lock away from its holders.

use super::Handle;
use crate::base::error::LockError;
use crate::caller::Caller;
use crate::queue::Answered;
use crate::store::{NameRecord, Op};

impl Handle {
    pub(crate) fn ask(&self, op: &Op) -> Result<Answered, LockError> {
        self.resolve(&Caller::current(false))?.ask(op)
    }

    pub(crate) async fn inspect(&self) -> Result<NameRecord, LockError> {
        Ok(self
            .ask(&Op::Inspect { above: 0 })?
            .wait()
            .await?
            .into_record())
    }

    pub(crate) fn complete_name(&self) -> Result<String, LockError> {
        let target = self.resolve(&Caller::current(false))?;
        Ok(target.name.to_string())
    }

    pub(crate) fn ask_force(&self) -> Result<Answered, LockError> {
        self.ask(&Op::Force)
    }
}

/// The query methods and `force_unlock` of a handle type for one lock, with a field `handle`.
macro_rules! query_methods {
    ($handle:ident) => {
        impl $handle {
            /// Asks the store whether the lock, or a part of it, is held. A lock counts as held until its
            /// `at_least` is over, but not while a client [keeps](crate::Config::retain) it between calls.
            ///
            /// # Errors
            ///
            /// [`LockError::Unavailable`](crate::LockError::Unavailable),
            /// [`LockError::ForeignKey`](crate::LockError::ForeignKey), and the errors of an unusable client or name.
            ///
            /// # Cancel safety
            ///
            /// Dropping the future changes nothing.
            pub async fn is_locked(&self) -> Result<bool, $crate::base::error::LockError> {
                Ok(self.info().await?.locked)
            }

            /// Like [`is_locked`](Self::is_locked), but blocks the thread. The errors are the same.
            pub fn blocking_is_locked(&self) -> Result<bool, $crate::base::error::LockError> {
                Ok(self.blocking_info()?.locked)
            }

            /// Asks the store for the holders, the waiters, the fencing token, and the end of the lease.
            ///
            /// # Errors
            ///
            /// [`LockError::Unavailable`](crate::LockError::Unavailable),
            /// [`LockError::ForeignKey`](crate::LockError::ForeignKey), and the errors of an unusable client or name.
            ///
            /// # Cancel safety
            ///
            /// Dropping the future changes nothing.
            pub async fn info(
                &self,
            ) -> Result<$crate::locks::handle::LockInfo, $crate::base::error::LockError> {
                let record = self.handle.inspect().await?;
                Ok($crate::locks::handle::LockInfo::new(&record))
            }

            /// Like [`info`](Self::info), but blocks the thread. The errors are the same.
            pub fn blocking_info(
                &self,
            ) -> Result<$crate::locks::handle::LockInfo, $crate::base::error::LockError> {
                $crate::base::wait::block_on(self.info())
            }

            /// Takes the lock away from all its holders, and returns whether there was one. A client that only
            /// [keeps](crate::Config::retain) the lock loses it too, but doesn't count. Holders are notified: their
            /// guards are lost, and their async bodies are cancelled. Intended for operators, because a former holder
            /// may still use the protected resource for a moment.
            ///
            /// # Errors
            ///
            /// After [`LockError::Unavailable`](crate::LockError::Unavailable), the lock may or may not have been taken
            /// away. Also [`LockError::ForeignKey`](crate::LockError::ForeignKey), and the errors of an unusable client
            /// or name.
            ///
            /// # Cancel safety
            ///
            /// The lock is taken away, whether or not the future completes.
            pub async fn force_unlock(&self) -> Result<bool, $crate::base::error::LockError> {
                Ok(self.handle.ask_force()?.wait().await?.count() > 0)
            }

            /// Like [`force_unlock`](Self::force_unlock), but blocks the thread. The errors are the same.
            pub fn blocking_force_unlock(&self) -> Result<bool, $crate::base::error::LockError> {
                $crate::base::wait::block_on(self.force_unlock())
            }
        }
    };
}
pub(crate) use query_methods;
