//! [`Lock`]: what each attribute takes, and the guard that the body gets.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::request::Request;
use crate::error::LockError;
use crate::handle::{Guard, Holding, Started, obtained};
use crate::multi::{MultiGuard, take};
use crate::mutex::{MutexGuard, ONE_OF_ONE};
use crate::queue::Acquire;
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

/// One lock on its way. Nothing of the request lives while it is waited for.
enum Taking<L> {
    Asked(Request<L>),
    Waiting(Acquire),
    Over,
}

impl<L> Taking<L> {
    #[inline]
    fn poll(
        &mut self,
        start: impl FnOnce(&Request<L>) -> Result<Started, LockError>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Holding, LockError>> {
        if let Self::Asked(request) = self {
            match start(request) {
                Ok(Started::Waiting(acquire)) => *self = Self::Waiting(acquire),
                Ok(Started::Obtained(holding)) => return self.end(Ok(holding)),
                Err(error) => return self.end(Err(error)),
            }
        }
        let Self::Waiting(acquire) = self else {
            return Poll::Pending;
        };
        let hold = ready!(Pin::new(acquire).poll(cx));
        self.end(hold.map(Holding::new))
    }

    #[inline]
    fn end(&mut self, result: Result<Holding, LockError>) -> Poll<Result<Holding, LockError>> {
        *self = Self::Over;
        if let Ok(holding) = &result {
            obtained(holding);
        }
        Poll::Ready(result)
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
                let mut taking = Taking::Asked(request);
                poll_fn(move |cx| {
                    let start = |request: &Request<Self>| request.start($demand(request)?, false);
                    taking.poll(start, cx).map_ok($guard::new)
                })
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
