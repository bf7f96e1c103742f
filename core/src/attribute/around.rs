//! Runs a body under its lock.

use std::future::{Future, Pending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::lock::Lock;
use super::request::Request;
use crate::base::error::LockError;
use crate::caller::{self, Around, Body, Loss};
use crate::locks::handle::Guard;
use crate::queue::Holds;

/// What a loss of the lock does to a body: the option `on_lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnLost {
    /// Ends it at its next await.
    Cancel,
    /// The same; and the value of a body that ends without one is dropped.
    Fail,
    /// Nothing: the body runs to its end.
    Finish,
}

/// The lock of a sync call. Until it is dropped, calls of the same lock on this thread re-enter, inside the body's
/// span.
pub struct Entered<G> {
    // Ends before the lock is released.
    _body: Body,
    guard: G,
}

impl<G> Entered<G> {
    pub fn guard(&self) -> &G {
        &self.guard
    }
}

pub fn enter<L: Lock>(request: Request<L>) -> Result<Entered<L>, LockError> {
    let guard = L::blocking_acquire(request)?;
    Ok(Entered {
        _body: caller::enter_body(guard.holds()),
        guard,
    })
}

/// The lock of a call, under which a body runs. The expansion declares it before the body, so that Rust drops the body,
/// with all its values, before the lock is released.
#[must_use = "the lock is taken by `under`"]
pub struct Locking<A, G> {
    // Ends before the lock is released.
    around: Around,
    stage: Stage<A, G>,
    // Whether the call was polled before. Then the granted lock may already be lost, and the body checks for that.
    waited: bool,
}

enum Stage<A, G> {
    Unasked,
    Acquiring(A),
    Held(G),
    Failed,
}

/// Sends no request; the first poll does.
pub fn locking<L: Lock>(request: Request<L>) -> Locking<L::Acquire, L> {
    Locking::of(Some(L::acquire(request)))
}

impl<A, G> Locking<A, G> {
    pub(super) fn of(acquire: Option<A>) -> Self {
        Self {
            around: Around::default(),
            stage: acquire.map_or(Stage::Unasked, Stage::Acquiring),
            waited: false,
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        !matches!(self.stage, Stage::Unasked)
    }

    pub(super) fn ask(&mut self, acquire: A) {
        self.stage = Stage::Acquiring(acquire);
    }
}

/// The lock of a guard that is a variable of the expansion. The body begins now.
pub fn held<G: Guard>(guard: &G) -> Locking<Pending<Result<&Holds, LockError>>, &Holds> {
    let holds = guard.holds();
    let mut around = Around::default();
    around.begin(holds);
    Locking {
        around,
        stage: Stage::Held(holds),
        waited: false,
    }
}

impl Guard for &Holds {
    fn holds(&self) -> &Holds {
        self
    }
}

impl<A: Future<Output = Result<G, LockError>> + Unpin, G: Guard> Locking<A, G> {
    /// Completes when the lock is held, with `true` if it was granted during this poll.
    #[inline]
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, LockError>> {
        let acquire = match &mut self.stage {
            Stage::Acquiring(acquire) => acquire,
            Stage::Held(_) => return Poll::Ready(Ok(false)),
            Stage::Unasked | Stage::Failed => return Poll::Pending,
        };
        let fresh = !std::mem::replace(&mut self.waited, true);
        match ready!(Pin::new(acquire).poll(cx)) {
            Ok(guard) => {
                self.around.begin(guard.holds());
                self.stage = Stage::Held(guard);
                Poll::Ready(Ok(fresh))
            }
            Err(error) => {
                self.stage = Stage::Failed;
                Poll::Ready(Err(error))
            }
        }
    }

    /// Takes the lock, then polls `body` under it.
    #[inline]
    pub(super) fn poll<F: Future>(
        &mut self,
        body: Pin<&mut F>,
        on_lost: OnLost,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, LockError>> {
        // A lock granted during this poll can't have been lost. The check reads the clock, a good part of the time of a
        // call.
        let fresh = ready!(self.poll_held(cx))?;
        let Some((holds, around)) = self.parts() else {
            return Poll::Pending;
        };
        let loss = match (on_lost, fresh) {
            (OnLost::Finish, _) => Loss::Nothing,
            (_, true) => Loss::EndsLater,
            (_, false) => Loss::Ends,
        };
        let output = ready!(around.poll(holds, body, loss, cx))?;
        if on_lost == OnLost::Fail {
            holds.check()?;
        }
        Poll::Ready(Ok(output))
    }
}

impl<A, G: Guard> Locking<A, G> {
    /// The body is cancelled, and about to be dropped.
    #[inline]
    pub(super) fn cancel(&mut self) {
        if let Some((holds, around)) = self.parts() {
            around.cancel(holds);
        }
    }

    /// Returns `None` unless the lock is held.
    #[inline]
    fn parts(&mut self) -> Option<(&Holds, &mut Around)> {
        match &self.stage {
            Stage::Held(guard) => Some((guard.holds(), &mut self.around)),
            Stage::Unasked | Stage::Acquiring(_) | Stage::Failed => None,
        }
    }
}

/// Takes the lock, then runs `body` under it. If the lock is lost, the future ends and the expansion drops `body`,
/// which is pinned in place: in debug builds, moving a future into another one copies all of it.
pub fn under<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    run_under(lock, body, OnLost::Cancel)
}

pub fn under_finishing<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    run_under(lock, body, OnLost::Finish)
}

pub fn under_failing<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    run_under(lock, body, OnLost::Fail)
}

fn run_under<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
    on_lost: OnLost,
) -> Under<'a, A, G, F> {
    Under {
        lock,
        body,
        on_lost,
        has_ended: false,
    }
}

#[must_use = "futures do nothing unless polled"]
pub struct Under<'a, A, G: Guard, F> {
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
    on_lost: OnLost,
    has_ended: bool,
}

impl<A, G, F: Future> Future for Under<'_, A, G, F>
where
    A: Future<Output = Result<G, LockError>> + Unpin,
    G: Guard,
{
    type Output = Result<F::Output, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let output = ready!(this.lock.poll(this.body.as_mut(), this.on_lost, cx))?;
        this.has_ended = true;
        Poll::Ready(Ok(output))
    }
}

impl<A, G: Guard, F> Drop for Under<'_, A, G, F> {
    #[inline]
    fn drop(&mut self) {
        if !self.has_ended {
            self.lock.cancel();
        }
    }
}

/// The output of a body that ran under [`under_finishing`] with a lock that was [`held`] before.
pub fn finish<T>(output: Result<T, LockError>) -> T {
    output.unwrap_or_else(|error| unreachable!("a loss does not end the body: {error}"))
}
