//! [`Lock`]: what each attribute takes, and the guard that the body gets.

use std::future::Future;

use super::request::Request;
use crate::error::LockError;
use crate::handle::{Guard, Holding, Started, obtained};
use crate::multi::{MultiGuard, take};
use crate::mutex::{MutexGuard, ONE_OF_ONE};
use crate::rw_lock::{ALL_OF_ALL, ONE_OF_ALL, RwLockReadGuard, RwLockWriteGuard};
use crate::semaphore::Permit;
use crate::wait::block_on;

/// A kind of lock.
pub trait Lock: Sized {
    /// What its holder has.
    type Guard: Guard;

    /// Takes it.
    fn acquire(
        request: Request<Self>,
    ) -> impl Future<Output = Result<Self::Guard, LockError>> + Send;

    /// As [`acquire`](Self::acquire), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`acquire`](Self::acquire), and [`LockError::Deadlock`].
    fn blocking_acquire(request: Request<Self>) -> Result<Self::Guard, LockError>;
}

/// `#[auto_mutex]`
#[derive(Debug)]
pub enum Mutex {}
/// `#[auto_mutex]` of several names.
#[derive(Debug)]
pub enum Multi {}
/// `#[auto_semaphore]`
#[derive(Debug)]
pub enum Semaphore {}
/// `#[auto_read]`
#[derive(Debug)]
pub enum Read {}
/// `#[auto_write]`
#[derive(Debug)]
pub enum Write {}

/// One name, and how much of it.
macro_rules! single {
    ($lock:ident, $guard:ident, $demand:expr) => {
        impl Lock for $lock {
            type Guard = $guard;

            fn acquire(
                request: Request<Self>,
            ) -> impl Future<Output = Result<$guard, LockError>> + Send {
                async move {
                    // A block of its own: nothing of the request lives while the lock is waited for.
                    let started = {
                        let request = request;
                        request.start($demand(&request)?, false)?
                    };
                    let holding = match started {
                        Started::Obtained(holding) => holding,
                        Started::Waiting(acquire) => Holding::new(acquire.await?),
                    };
                    obtained(&holding);
                    Ok($guard::new(holding))
                }
            }

            fn blocking_acquire(request: Request<Self>) -> Result<$guard, LockError> {
                let holding = match request.start($demand(&request)?, true)? {
                    Started::Obtained(holding) => holding,
                    Started::Waiting(acquire) => Holding::new(acquire.blocking()?),
                };
                obtained(&holding);
                Ok($guard::new(holding))
            }
        }
    };
}

single!(Mutex, MutexGuard, |_: &_| Ok::<_, LockError>(ONE_OF_ONE));
single!(Semaphore, Permit, Request::permit);
single!(Read, RwLockReadGuard, |_: &_| Ok::<_, LockError>(
    ONE_OF_ALL
));
single!(Write, RwLockWriteGuard, |_: &_| Ok::<_, LockError>(
    ALL_OF_ALL
));

impl Lock for Multi {
    type Guard = MultiGuard;

    fn acquire(
        request: Request<Self>,
    ) -> impl Future<Output = Result<MultiGuard, LockError>> + Send {
        let asked = request.handles();
        async move {
            match asked {
                Ok((ref handles, ref options)) => {
                    take::take(handles, options, ONE_OF_ONE, false).await
                }
                Err(error) => Err(error),
            }
        }
    }

    fn blocking_acquire(request: Request<Self>) -> Result<MultiGuard, LockError> {
        let (handles, options) = request.handles()?;
        block_on(take::take(&handles, &options, ONE_OF_ONE, true))
    }
}
