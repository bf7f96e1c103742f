//! Runs a future under one hold or several. During each poll, nested calls can re-enter the holds. The future ends when
//! one hold is lost. A future that is cancelled is dropped as it is polled: nested calls of its drop re-enter, too.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::body::BodySpan;
use super::enter;
use super::frames::Frames;
use crate::error::LockError;
use crate::queue::Holds;

pin_project! {
    /// See [`run`].
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Run<F> {
        holds: Holds,
        span: BodySpan,
        #[pin]
        body: Option<F>,
    }

    impl<F> PinnedDrop for Run<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.body.is_some() {
                let _span = this.span.enter();
                let _entered = enter(this.holds);
                this.body.set(None);
            }
        }
    }
}

/// Runs `body` under `holds`. If one is lost, `body` is dropped at its next await, and the result is `LockError::Lost`.
pub(crate) fn run<F: Future>(holds: Holds, body: F) -> Run<F> {
    Run {
        span: BodySpan::of(&holds),
        holds,
        body: Some(body),
    }
}

impl<F: Future> Future for Run<F> {
    type Output = Result<F::Output, LockError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let _span = this.span.enter();
        let _entered = enter(this.holds);
        let polled = poll_body(this.holds, body, Loss::Ends, cx);
        if polled.is_ready() {
            this.body.set(None);
        }
        polled
    }
}

/// What a loss of the lock does to a body in the present poll.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    Ends,
    /// The holds were granted during this same poll, so they are not checked before the body is polled.
    EndsLater,
    Nothing,
}

fn poll_body<F: Future>(
    holds: &Holds,
    body: Pin<&mut F>,
    loss: Loss,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, LockError>> {
    if loss == Loss::Ends
        && let Some(lost) = holds.lost()
    {
        return Poll::Ready(Err(lost));
    }
    if let Poll::Ready(output) = body.poll(cx) {
        return Poll::Ready(Ok(output));
    }
    // `poll_lost` registers the waker. It is called only now, because most bodies end in their first poll and need no
    // waker.
    match loss {
        Loss::Nothing => Poll::Pending,
        Loss::Ends | Loss::EndsLater => holds.poll_lost(cx).map(Err),
    }
}

/// Runs a future that another value owns, and that is dropped before this value.
#[doc(hidden)]
#[derive(Debug, Default)]
pub(crate) struct Around {
    span: BodySpan,
    /// Only while a cancelled future is dropped.
    leaving: Option<Frames>,
}

impl Around {
    /// Polls `body` once under `holds`.
    #[inline]
    pub(crate) fn poll<F: Future>(
        &mut self,
        holds: &Holds,
        body: Pin<&mut F>,
        loss: Loss,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, LockError>> {
        let polled = {
            let _span = self.span.enter();
            let _entered = enter(holds);
            poll_body(holds, body, loss, cx)
        };
        if let Poll::Ready(Ok(_)) = polled {
            self.span.end();
        }
        polled
    }

    /// Begins the span, because the body begins now.
    #[inline]
    pub(crate) fn begin(&mut self, holds: &Holds) {
        self.span.begin(holds);
    }

    /// The body is cancelled: enters its frames and its span until this value is dropped. That must happen on this
    /// thread, as soon as the body is dropped.
    pub(crate) fn cancel(&mut self, holds: &Holds) {
        self.span.enter_to_end();
        self.leaving = Some(enter(holds).frames());
    }
}

impl Drop for Around {
    #[inline]
    fn drop(&mut self) {
        if self.leaving.take().is_some() {
            self.span.exit();
        }
    }
}
