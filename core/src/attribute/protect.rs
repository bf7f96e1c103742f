//! The future of an async function without handlers that use its arguments. It polls the body itself, so that the
//! compiler makes only one state machine of the function.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::around::Locking;
use super::lock::Lock;
use super::request::Request;
use crate::base::error::LockError;

pin_project! {
    /// Takes the lock, then runs `body` under it. Drops the body, with all its values, before it releases the lock.
    ///
    /// The expansion writes this value out: in debug builds, a function would copy the body twice.
    #[must_use = "futures do nothing unless polled"]
    pub struct Protect<L: Lock, R, F> {
        #[pin]
        pub body: Option<F>,
        pub call: Protection<L, R>,
    }

    impl<L: Lock, R, F> PinnedDrop for Protect<L, R, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            drop(Ending { body: this.body, lock: &mut this.call.lock });
        }
    }
}

/// All of a [`Protect`] but the body.
pub struct Protection<L: Lock, R> {
    lock: Locking<L::Acquire, L>,
    answer: fn(LockError) -> R,
    finishes: bool,
}

/// `answer` makes the result of a call that did not get the lock, or lost it.
pub fn protection<L: Lock, R>(request: Request<L>, answer: fn(LockError) -> R) -> Protection<L, R> {
    Protection {
        lock: Locking::of(Some(L::acquire(request))),
        answer,
        finishes: false,
    }
}

/// For a body that begins with [`ask`].
pub fn asking<L: Lock, R>(answer: fn(LockError) -> R) -> Protection<L, R> {
    Protection {
        lock: Locking::of(None),
        answer,
        finishes: false,
    }
}

/// The loss of the lock does not end the body.
pub fn finishing<L: Lock, R>(call: Protection<L, R>) -> Protection<L, R> {
    Protection {
        finishes: true,
        ..call
    }
}

impl<L: Lock, R, F: Future<Output = R>> Future for Protect<L, R, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        // Also ends if the body panics.
        let mut ending = Ending {
            body: this.body,
            lock: &mut this.call.lock,
        };
        let polled = ending.poll(this.call.finishes, cx);
        if polled.is_pending() {
            std::mem::forget(ending);
            return Poll::Pending;
        }
        drop(ending);
        polled.map(|result| result.unwrap_or_else(this.call.answer))
    }
}

/// Ends the body and then its lock when it is dropped.
struct Ending<'a, L: Lock, F> {
    body: Pin<&'a mut Option<F>>,
    lock: &'a mut Locking<L::Acquire, L>,
}

/// In debug builds, the frame of this function has space for the body: the caller's frame must not, below which the body
/// is polled.
fn clear<F>(mut body: Pin<&mut Option<F>>) {
    body.set(None);
}

impl<L: Lock, F> Drop for Ending<'_, L, F> {
    #[inline]
    fn drop(&mut self) {
        if self.body.is_some() {
            self.lock.cancel();
            clear(self.body.as_mut());
        }
        self.lock.release();
    }
}

impl<L: Lock, F: Future> Ending<'_, L, F> {
    #[inline]
    fn poll(&mut self, finishes: bool, cx: &mut Context<'_>) -> Poll<Result<F::Output, LockError>> {
        let Some(body) = self.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        if !self.lock.is_asked() {
            let output = body.poll(cx);
            let Some(request) = ASKED.take() else {
                if output.is_ready() {
                    clear(self.body.as_mut());
                }
                return output.map(Ok);
            };
            self.lock.ask(L::acquire(request.of_kind()));
        }
        let Some(body) = self.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let output = ready!(self.lock.poll(body, finishes, cx))?;
        clear(self.body.as_mut());
        Poll::Ready(Ok(output))
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
