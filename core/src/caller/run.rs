//! Runs a future under holds that nested calls can re-enter, during each poll and while a cancelled future is dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::body::BodySpan;
use super::enter;
use super::frames::{enter_scope, leave, push_locks};
use crate::base::error::LockError;
use crate::lease::ListenerKey;
use crate::queue::{Holds, OpenClient};

pin_project! {
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Run<F> {
        holds: Holds,
        key: Option<ListenerKey>,
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
                this.holds.forget(*this.key);
            }
        }
    }
}

/// If a hold is lost, `body` is dropped at its next await.
pub(crate) fn run<F: Future>(holds: Holds, body: F) -> Run<F> {
    Run {
        span: BodySpan::of(&holds),
        holds,
        key: None,
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
        let polled = poll_body(this.holds, this.key, body, Loss::Ends, cx);
        if polled.is_ready() {
            this.body.set(None);
            this.holds.forget(*this.key);
        }
        polled
    }
}

/// What the loss of the lock means for a body in the current poll.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    Ends,
    /// The lock was granted during this poll, so it was not checked before the body was polled.
    EndsLater,
    Nothing,
}

fn poll_body<F: Future>(
    holds: &Holds,
    key: &mut Option<ListenerKey>,
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
    // Not earlier, because most bodies end in their first poll and need no waker.
    match loss {
        Loss::Nothing => Poll::Pending,
        Loss::Ends | Loss::EndsLater => holds.poll_lost(cx, key).map(Err),
    }
}

/// Runs a future that is owned by another value, and dropped before this one.
#[doc(hidden)]
#[derive(Debug, Default)]
pub(crate) struct Around {
    span: BodySpan,
    key: Option<ListenerKey>,
    /// Set while a cancelled future is dropped.
    leaving: Option<u64>,
}

impl Around {
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
            poll_body(holds, &mut self.key, body, loss, cx)
        };
        if let Poll::Ready(ended) = &polled {
            holds.forget(self.key);
            if ended.is_ok() {
                self.span.end();
            }
        }
        polled
    }

    #[inline]
    pub(crate) fn begin(&mut self, holds: &Holds) {
        self.span.begin(holds);
    }

    /// The body is cancelled. Until this value is dropped (right after the body, on this thread), nested calls can
    /// re-enter.
    pub(crate) fn cancel(&mut self, holds: &Holds) {
        holds.forget(self.key);
        self.span.enter_to_end();
        self.leaving = Some(push_locks(holds));
    }
}

impl Drop for Around {
    #[inline]
    fn drop(&mut self) {
        if let Some(frame) = self.leaving {
            leave(frame);
            self.span.exit();
        }
    }
}

pin_project! {
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Scoped<F> {
        client: Arc<OpenClient>,
        // `None` only during drop.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = enter_scope(this.client.clone());
            this.future.set(None);
        }
    }
}

pub(crate) fn scope<F>(client: Arc<OpenClient>, future: F) -> Scoped<F> {
    Scoped {
        client,
        future: Some(future),
    }
}

pub(crate) fn blocking_scope<T>(client: Arc<OpenClient>, run: impl FnOnce() -> T) -> T {
    let _entered = enter_scope(client);
    run()
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(future) = this.future.as_pin_mut() else {
            return Poll::Pending;
        };
        let _entered = enter_scope(this.client.clone());
        future.poll(cx)
    }
}
