//! Running a future under a hold: each poll lies in its scope, and stops once the lock is lost.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::enter;
use crate::error::LockError;
use crate::lease::Hold;

pin_project! {
    /// See [`run`].
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Run<F> {
        hold: Arc<Hold>,
        #[pin]
        body: Option<F>,
    }
}

/// Runs `body` under `hold`; a lost lock drops it at its next await and ends with `LockError::Lost`.
pub(crate) fn run<F: Future>(hold: Arc<Hold>, body: F) -> Run<F> {
    Run {
        hold,
        body: Some(body),
    }
}

impl<F: Future> Future for Run<F> {
    type Output = Result<F::Output, LockError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        poll_under(this.hold, this.body, false, cx)
    }
}

/// Polls `body` under `hold`, once. It is taken at the end or at the loss: what it owns must be gone before the
/// caller goes on. With `finishes` it runs on when the lock is lost.
pub(crate) fn poll_under<F: Future>(
    hold: &Arc<Hold>,
    mut body: Pin<&mut Option<F>>,
    finishes: bool,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, LockError>> {
    let Some(running) = body.as_mut().as_pin_mut() else {
        return Poll::Pending;
    };
    let lost = !finishes && hold.poll_lost(cx).is_ready();
    let _entered = enter(hold);
    if lost {
        body.set(None);
        return Poll::Ready(Err(hold.lost_error()));
    }
    let output = ready!(running.poll(cx));
    body.set(None);
    Poll::Ready(Ok(output))
}

pin_project! {
    /// See [`finish`].
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Finish<F> {
        hold: Arc<Hold>,
        #[pin]
        body: F,
    }
}

/// Runs `body` under `hold` to its end, lost or not.
pub(crate) fn finish<F: Future>(hold: Arc<Hold>, body: F) -> Finish<F> {
    Finish { hold, body }
}

impl<F: Future> Future for Finish<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = enter(this.hold);
        this.body.poll(cx)
    }
}
