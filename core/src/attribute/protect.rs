//! The future of an async function without handlers that use its arguments. It polls the body itself, so that the
//! compiler makes only one state machine of the function.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::around::{Locking, OnLost};
use super::lock::Lock;
use super::request::Request;
use crate::base::error::LockError;
use crate::locks::multi::MultiGuard;
use crate::locks::mutex::MutexGuard;
use crate::locks::rw_lock::{RwLockReadGuard, RwLockWriteGuard};
use crate::locks::semaphore::Permit;

pin_project! {
    /// Takes the lock, then runs `body` under it. Drops the body, with all its values, before it releases the lock.
    ///
    /// The expansion writes this value out: in debug builds, a function would copy the body twice. It is an `enum`, and
    /// not a struct with an `Option`, because the compiler looks through at most 128 nested types to find whether a
    /// future is `Send`.
    #[project = Projected]
    #[must_use = "futures do nothing unless polled"]
    pub enum Protect<L: Lock, R, F> {
        Running {
            // The compiler looks at this first, and remembers it, before it looks through the calls inside the body.
            of: PhantomData<Protection<L, R>>,
            #[pin]
            body: F,
            // Ends after the body.
            call: Protection<L, R>,
        },
        Ended,
    }

    impl<L: Lock, R, F> PinnedDrop for Protect<L, R, F> {
        fn drop(this: Pin<&mut Self>) {
            if let Projected::Running { call, .. } = this.project() {
                call.cancel();
            }
        }
    }
}

/// All of a [`Protect`] but the body.
pub struct Protection<L: Lock, R> {
    lock: Locking<L::Acquire, L>,
    answer: fn(LockError) -> R,
    on_lost: OnLost,
    has_ended: bool,
}

/// `answer` makes the result of a call that did not get the lock, or lost it.
pub fn protection<L: Lock, R>(request: Request<L>, answer: fn(LockError) -> R) -> Protection<L, R> {
    Protection {
        lock: Locking::of(Some(L::acquire(request))),
        answer,
        on_lost: OnLost::Cancel,
        has_ended: false,
    }
}

macro_rules! asking {
    ($($asking:ident: $lock:ty;)*) => {$(
        /// For a body that begins with [`ask`]. One function for each kind is shorter for the compiler than a type.
        pub fn $asking<R>(answer: fn(LockError) -> R) -> Protection<$lock, R> {
            Protection {
                lock: Locking::of(None),
                answer,
                on_lost: OnLost::Cancel,
                has_ended: false,
            }
        }
    )*};
}

asking! {
    asking_mutex: MutexGuard;
    asking_semaphore: Permit;
    asking_read: RwLockReadGuard;
    asking_write: RwLockWriteGuard;
    asking_multi: MultiGuard;
}

/// The loss of the lock does not end the body.
pub fn finishing<L: Lock, R>(call: Protection<L, R>) -> Protection<L, R> {
    Protection {
        on_lost: OnLost::Finish,
        ..call
    }
}

/// The loss of the lock ends the body, and is the result even if the body ends before it notices.
pub fn failing<L: Lock, R>(call: Protection<L, R>) -> Protection<L, R> {
    Protection {
        on_lost: OnLost::Fail,
        ..call
    }
}

impl<L: Lock, R, F: Future<Output = R>> Future for Protect<L, R, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // Also ends if the body panics.
        let mut ending = Ending(self);
        let Projected::Running { body, call, .. } = ending.0.as_mut().project() else {
            return Poll::Pending;
        };
        let Poll::Ready(result) = call.poll(body, cx) else {
            std::mem::forget(ending);
            return Poll::Pending;
        };
        call.has_ended = result.is_ok();
        let answer = call.answer;
        drop(ending);
        Poll::Ready(result.unwrap_or_else(answer))
    }
}

impl<L: Lock, R> Protection<L, R> {
    #[inline]
    fn poll<F: Future<Output = R>>(
        &mut self,
        mut body: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<R, LockError>> {
        if !self.lock.is_asked() {
            let output = body.as_mut().poll(cx);
            let Some(request) = ASKED.take() else {
                return output.map(Ok);
            };
            self.lock.ask(L::acquire(request.of_kind()));
        }
        self.lock.poll(body, self.on_lost, cx)
    }

    /// The body is about to be dropped.
    #[inline]
    fn cancel(&mut self) {
        if !self.has_ended {
            self.lock.cancel();
        }
    }
}

/// Ends the body and then its lock when it is dropped.
struct Ending<'a, L: Lock, R, F>(Pin<&'a mut Protect<L, R, F>>);

impl<L: Lock, R, F> Drop for Ending<'_, L, R, F> {
    /// In debug builds, the frame of this function has space for the body. That of `poll` must not, because the body is
    /// polled below it.
    fn drop(&mut self) {
        self.0.set(Protect::Ended);
    }
}

thread_local! {
    /// From [`Ask`] to the [`Protect`] that polls it.
    static ASKED: Cell<Option<Request<()>>> = const { Cell::new(None) };
}

/// Completes when the lock is held.
#[must_use = "futures do nothing unless polled"]
pub struct Ask(Option<Request<()>>);

/// Evaluated inside of the body's future, like all values of options, because they may borrow the arguments, which the
/// body owns, and may contain `?` and `.await`.
pub fn ask<L>(request: Request<L>) -> Ask {
    Ask(Some(request.of_kind()))
}

impl Future for Ask {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.0.take() {
            Some(request) => {
                ASKED.set(Some(request));
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

/// Lets an answer be written as the arms of a `match`, as in a sync function.
pub fn failed<R>(error: LockError) -> Result<R, LockError> {
    Err(error)
}
