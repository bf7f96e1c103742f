//! [`Lock`]: what each attribute takes, and the guard that the body gets.

use std::future::Future;

use super::request::Request;
use crate::error::LockError;
use crate::handle::{Demand, Guard, Handle, Options};
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

/// What a call asks for, of one name.
struct Asked {
    handle: Handle,
    options: Options,
    demand: Demand,
}

impl Asked {
    #[inline]
    fn of<L>(
        request: Request<L>,
        demand: impl FnOnce(&Request<L>) -> Result<Demand, LockError>,
    ) -> Result<Self, LockError> {
        let demand = demand(&request)?;
        let (handle, options) = request.handle()?;
        Ok(Self {
            handle,
            options,
            demand,
        })
    }
}

/// One name, and how much of it.
macro_rules! single {
    ($lock:ident, $guard:ident, $demand:expr) => {
        impl Lock for $lock {
            type Guard = $guard;

            fn acquire(
                request: Request<Self>,
            ) -> impl Future<Output = Result<$guard, LockError>> + Send {
                let asked = Asked::of(request, $demand);
                async move {
                    match asked {
                        // In its place: a future keeps what is moved twice.
                        Ok(ref asked) => {
                            let taken = asked.handle.take(&asked.options, asked.demand);
                            taken.await.map($guard::new)
                        }
                        Err(error) => Err(error),
                    }
                }
            }

            fn blocking_acquire(request: Request<Self>) -> Result<$guard, LockError> {
                let asked = Asked::of(request, $demand)?;
                let taken = asked.handle.blocking_take(&asked.options, asked.demand);
                taken.map($guard::new)
            }
        }
    };
}

single!(Mutex, MutexGuard, |_| Ok(ONE_OF_ONE));
single!(Semaphore, Permit, Request::permit);
single!(Read, RwLockReadGuard, |_| Ok(ONE_OF_ALL));
single!(Write, RwLockWriteGuard, |_| Ok(ALL_OF_ALL));

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
