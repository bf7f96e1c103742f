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
        // Taken at the end or at the loss: what the body owns must be gone before the caller goes on.
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
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        if this.hold.poll_lost(cx).is_ready() {
            let entered = enter(this.hold);
            this.body.set(None);
            drop(entered);
            return Poll::Ready(Err(this.hold.lost_error()));
        }
        let entered = enter(this.hold);
        let output = body.poll(cx);
        let output = ready!(output);
        this.body.set(None);
        drop(entered);
        Poll::Ready(Ok(output))
    }
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
