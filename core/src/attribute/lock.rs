//! [`Lock`]: the lock that an attribute takes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::request::Request;
use crate::caller::Caller;
use crate::error::LockError;
use crate::handle::{Guard, Holding, Taking, log_obtained};
use crate::multi::{MultiGuard, take};
use crate::mutex::MutexGuard;
use crate::queue::Acquire;
use crate::rw_lock::{RwLockReadGuard, RwLockWriteGuard};
use crate::semaphore::Permit;
use crate::store::Share;
use crate::wait::{Coop, block_on};

/// Takes one kind of lock. The guard type of each kind implements this trait.
pub trait Lock: Guard + Sized + Unpin {
    /// The future of [`acquire`](Self::acquire).
    type Acquire: Future<Output = Result<Self, LockError>> + Send + Unpin;

    /// Takes the lock. The request is sent at the first poll.
    ///
    /// # Errors
    ///
    /// The errors of the lock, and an error for an unusable key.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queue, or releases the lock that it was already granted.
    fn acquire(request: Request<Self>) -> Self::Acquire;

    /// Like [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Deadlock`].
    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError>;
}

/// A guard of one name.
trait Single: Lock + From<Holding> {
    /// Asks for the units of this kind of lock.
    fn start(request: &Request<Self>, blocking: bool) -> Result<Taking, LockError>;
}

/// A call for one lock. It begins at the first poll, unless the task has used up its budget. While it waits, it no longer
/// stores the request. It must not be polled again after it has ended.
#[derive(Debug)]
pub struct Call<L>(State<L>);

#[derive(Debug)]
enum State<L> {
    Asked(Request<L>, Coop),
    Waiting(Acquire),
}

impl<L: Single> Future for Call<L> {
    type Output = Result<L, LockError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let holding = match &mut self.0 {
            State::Waiting(acquire) => Holding::new(ready!(Pin::new(acquire).poll(cx))?),
            State::Asked(request, coop) => {
                ready!(coop.poll_proceed(cx));
                match L::start(request, false)? {
                    Taking::Obtained(holding) => holding,
                    Taking::Waiting(mut acquire) => {
                        let polled = Pin::new(&mut acquire).poll(cx);
                        self.0 = State::Waiting(acquire);
                        Holding::new(ready!(polled)?)
                    }
                }
            }
        };
        log_obtained(holding.first());
        Poll::Ready(Ok(holding.into()))
    }
}

/// Implements [`Lock`] for the guard of one name. `$share` computes the units to request.
macro_rules! single {
    ($guard:ident, $share:expr) => {
        impl Single for $guard {
            #[inline]
            fn start(request: &Request<Self>, blocking: bool) -> Result<Taking, LockError> {
                request.start($share(request)?, blocking)
            }
        }

        impl Lock for $guard {
            type Acquire = Call<Self>;

            fn acquire(request: Request<Self>) -> Call<Self> {
                Call(State::Asked(request, Coop::default()))
            }

            fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
                let holding = Self::start(&request, true)?.blocking()?;
                log_obtained(holding.first());
                Ok(holding.into())
            }
        }
    };
}

single!(MutexGuard, |_| Ok::<_, LockError>(Share::MUTEX));
single!(Permit, Request::permit);
single!(RwLockReadGuard, |_| Ok::<_, LockError>(Share::READER));
single!(RwLockWriteGuard, |_| Ok::<_, LockError>(Share::WRITER));

impl Lock for MultiGuard {
    /// Boxed: it has many more steps than a call for one lock, and would make each future larger by all of them.
    type Acquire = Pin<Box<dyn Future<Output = Result<Self, LockError>> + Send>>;

    fn acquire(request: Request<Self>) -> Self::Acquire {
        Box::pin(async move {
            let caller = Caller::current(false);
            let (targets, options) = request.targets(&caller)?;
            take::take(caller, targets, &options, None).await
        })
    }

    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
        let caller = Caller::current(true);
        let (targets, options) = request.targets(&caller)?;
        block_on(take::take(caller, targets, &options, None))
    }
}
