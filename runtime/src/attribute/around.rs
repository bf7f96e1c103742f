//! Runs a body under its lock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::lock::Lock;
use super::request::Request;
use crate::error::LockError;
use crate::handle::Guard;
use crate::task;

/// Opens the scope of a sync body: until the result is dropped, calls of the same lock on this thread re-enter.
pub fn enter<G: Guard>(guard: &G) -> impl Sized + use<G> {
    task::enter(guard.holds())
}

/// Runs `body` under the lock. If the lock is lost, `body` is dropped at its next await.
pub fn run<G: Guard, F: Future>(
    guard: &G,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<G, F> {
    task::run(guard.holds().clone(), body)
}

/// Runs `body` under the lock to its end, even if the lock is lost.
pub fn finish<G: Guard, F: Future>(
    guard: &G,
    body: F,
) -> impl Future<Output = F::Output> + use<G, F> {
    task::finish(guard.holds().clone(), body)
}

/// Takes the lock, then [`run`]s `body`.
pub fn around<L: Lock, F: Future>(
    request: Request<L>,
    body: F,
) -> Around<impl Future<Output = Result<L, LockError>>, L, F> {
    Around::new(L::acquire(request), body, false)
}

/// Takes the lock, then [`finish`]es `body`.
pub fn around_finishing<L: Lock, F: Future>(
    request: Request<L>,
    body: F,
) -> Around<impl Future<Output = Result<L, LockError>>, L, F> {
    Around::new(L::acquire(request), body, true)
}

pin_project! {
    /// Takes the lock, then runs the body under it. An `async fn` would store the body twice.
    #[must_use = "futures do nothing unless polled"]
    pub struct Around<A, G, F> {
        #[pin]
        acquire: Option<A>,
        // Dropped before the guard: what the body owns must be gone when the lock is released.
        #[pin]
        body: Option<F>,
        guard: Option<G>,
        finishes: bool,
        // It was polled before, so the lock is not fresh.
        waited: bool,
    }
}

impl<A, G, F> Around<A, G, F> {
    fn new(acquire: A, body: F, finishes: bool) -> Self {
        Self {
            acquire: Some(acquire),
            body: Some(body),
            guard: None,
            finishes,
            waited: false,
        }
    }
}

impl<A, G, F> Future for Around<A, G, F>
where
    A: Future<Output = Result<G, LockError>>,
    G: Guard,
    F: Future,
{
    type Output = Result<F::Output, LockError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // A lock that was granted during this poll is not lost yet, and reading the clock is a good part of a call.
        let mut fresh = false;
        if let Some(acquire) = this.acquire.as_mut().as_pin_mut() {
            fresh = !std::mem::replace(this.waited, true);
            let guard = ready!(acquire.poll(cx));
            this.acquire.set(None);
            *this.guard = Some(guard?);
        }
        let Some(guard) = this.guard else {
            return Poll::Pending;
        };
        let body = task::poll_under(guard.holds(), this.body, *this.finishes, fresh, cx);
        let output = ready!(body);
        *this.guard = None;
        Poll::Ready(output)
    }
}
