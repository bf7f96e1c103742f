//! Runs a future under one hold or several. During each poll, nested calls can re-enter the holds. The future ends when
//! one hold is lost.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::enter;
use crate::error::LockError;
use crate::observe::BodySpan;
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
        // The span is entered until this poll ends, so a body that completes is dropped inside the span.
        let _entered = this.span.enter();
        let polled = poll_under(this.holds, body, false, false, cx);
        let output = ready!(polled);
        this.body.set(None);
        Poll::Ready(output)
    }
}

/// Polls `body` once under `holds`. When this returns ready, the caller must drop `body` before it continues.
/// `finishes`: a loss does not end `body`. `fresh`: `holds` were granted during this same poll, so they are not checked for
/// a loss before `body` is polled.
pub(crate) fn poll_under<F: Future>(
    holds: &Holds,
    body: Pin<&mut F>,
    finishes: bool,
    fresh: bool,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, LockError>> {
    let may_be_lost = !finishes && !fresh;
    let mut lost = if may_be_lost { holds.lost() } else { None };
    let _entered = enter(holds);
    if lost.is_none() {
        if let Poll::Ready(output) = body.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // `poll_lost` registers the waker. It is called only now, because most bodies end in their first poll and need no
        // waker.
        if !finishes && let Poll::Ready(error) = holds.poll_lost(cx) {
            lost = Some(error);
        }
    }
    match lost {
        Some(lost) => Poll::Ready(Err(lost)),
        None => Poll::Pending,
    }
}

pin_project! {
    /// See [`finish`].
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Finish<F> {
        holds: Holds,
        span: BodySpan,
        #[pin]
        body: F,
    }
}

/// Runs `body` under `holds` to its end, even if one is lost.
pub(crate) fn finish<F: Future>(holds: Holds, body: F) -> Finish<F> {
    Finish {
        span: BodySpan::of(&holds),
        holds,
        body,
    }
}

impl<F: Future> Future for Finish<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _span = this.span.enter();
        let _entered = enter(this.holds);
        this.body.poll(cx)
    }
}
