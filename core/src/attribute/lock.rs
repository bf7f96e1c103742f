//! Takes the lock of an annotated function.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::request::Request;
use crate::base::error::LockError;
use crate::base::wait::{Coop, block_on};
use crate::locks::handle::{Guard, Holding, Taking, log_obtained};
use crate::locks::multi::MultiGuard;
use crate::locks::mutex::MutexGuard;
use crate::locks::rw_lock::{RwLockReadGuard, RwLockWriteGuard};
use crate::locks::semaphore::Permit;
use crate::queue::Acquire;
use crate::store::Share;

pub trait Lock: Guard + Sized + Unpin {
    type Acquire: Future<Output = Result<Self, LockError>> + Send + Unpin;

    /// Takes the lock. The request is sent at the first poll.
    fn acquire(request: Request<Self>) -> Self::Acquire;

    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError>;
}

trait Single: Guard + From<Holding> + Unpin {
    /// `None` for permits, whose number is in the request.
    const SHARE: Option<Share>;
}

/// A call for one lock. It begins at the first poll, unless the task has used up its budget. It drops the request once
/// it waits, and must not be polled again after it has ended.
pub struct Call<L>(State<L>);

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
                match request.start(L::SHARE, false)? {
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

impl<L: Single> Lock for L {
    type Acquire = Call<Self>;

    fn acquire(request: Request<Self>) -> Call<Self> {
        Call(State::Asked(request, Coop::default()))
    }

    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
        let holding = request.start(L::SHARE, true)?.blocking()?;
        log_obtained(holding.first());
        Ok(holding.into())
    }
}

impl Single for MutexGuard {
    const SHARE: Option<Share> = Some(Share::MUTEX);
}

impl Single for Permit {
    const SHARE: Option<Share> = None;
}

impl Single for RwLockReadGuard {
    const SHARE: Option<Share> = Some(Share::READER);
}

impl Single for RwLockWriteGuard {
    const SHARE: Option<Share> = Some(Share::WRITER);
}

impl Lock for MultiGuard {
    /// Boxed, because it has many more states than a call for one lock, which would enlarge every future.
    type Acquire = Pin<Box<dyn Future<Output = Result<Self, LockError>> + Send>>;

    fn acquire(request: Request<Self>) -> Self::Acquire {
        Box::pin(request.take_all(false))
    }

    fn blocking_acquire(request: Request<Self>) -> Result<Self, LockError> {
        block_on(request.take_all(true))
    }
}
