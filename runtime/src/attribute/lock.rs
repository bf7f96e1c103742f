//! [`Lock`]: the lock that an attribute takes.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::request::Request;
use crate::caller::Caller;
use crate::error::LockError;
use crate::handle::{Guard, Holding, Taking, log_obtained};
use crate::multi::{MultiGuard, take};
use crate::mutex::{MutexGuard, ONE_OF_ONE};
use crate::queue::Acquire;
use crate::rw_lock::{ALL_OF_ALL, ONE_OF_ALL, RwLockReadGuard, RwLockWriteGuard};
use crate::semaphore::Permit;
use crate::wait::block_on;

/// Takes one kind of lock. The guard type of each kind implements this trait.
pub trait Lock: Guard + Sized {
    /// Takes the lock.
    ///
    /// # Errors
    ///
    /// The errors of the lock, and an error for an unusable key.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases the lock that it was already granted.
    fn acquire(request: Request<Self>) -> impl Future<Output = Result<Self, LockError>> + Send;

    /// Like [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Deadlock`].
    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError>;
}

/// A call for one lock. The first poll begins the call. While the call waits, it no longer stores the request. It must
/// not be polled again after it has ended.
enum Call<L> {
    Asked(Request<L>),
    Waiting(Acquire),
}

impl<L> Call<L> {
    #[inline]
    fn poll(
        &mut self,
        start: impl FnOnce(&Request<L>) -> Result<Taking, LockError>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Holding, LockError>> {
        let holding = match self {
            Self::Waiting(acquire) => ready!(Self::wait(acquire, cx))?,
            Self::Asked(request) => match start(request)? {
                Taking::Obtained(holding) => holding,
                Taking::Waiting(mut acquire) => {
                    let polled = Self::wait(&mut acquire, cx);
                    *self = Self::Waiting(acquire);
                    ready!(polled)?
                }
            },
        };
        log_obtained(holding.first());
        Poll::Ready(Ok(holding))
    }

    fn wait(acquire: &mut Acquire, cx: &mut Context<'_>) -> Poll<Result<Holding, LockError>> {
        Pin::new(acquire).poll(cx).map_ok(Holding::new)
    }
}

/// Implements [`Lock`] for the guard of one name. `$share` computes the units to request.
macro_rules! single {
    ($guard:ident, $share:expr) => {
        impl Lock for $guard {
            fn acquire(
                request: Request<Self>,
            ) -> impl Future<Output = Result<Self, LockError>> + Send {
                let mut call = Call::Asked(request);
                poll_fn(move |cx| {
                    let start = |request: &Request<Self>| request.start($share(request)?, false);
                    call.poll(start, cx).map_ok(Self::new)
                })
            }

            fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
                let holding = request.start($share(&request)?, true)?.blocking()?;
                log_obtained(holding.first());
                Ok(Self::new(holding))
            }
        }
    };
}

single!(MutexGuard, |_| Ok::<_, LockError>(ONE_OF_ONE));
single!(Permit, Request::permit);
single!(RwLockReadGuard, |_| Ok::<_, LockError>(ONE_OF_ALL));
single!(RwLockWriteGuard, |_| Ok::<_, LockError>(ALL_OF_ALL));

impl Lock for MultiGuard {
    fn acquire(request: Request<Self>) -> impl Future<Output = Result<Self, LockError>> + Send {
        let caller = Caller::current(false);
        let asked = request.targets(&caller);
        async move {
            let (targets, options) = asked?;
            take::take(caller, targets, &options).await
        }
    }

    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
        let caller = Caller::current(true);
        let (targets, options) = request.targets(&caller)?;
        block_on(take::take(caller, targets, &options))
    }
}
