//! Runs a body under its lock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::lock::Lock;
use super::request::Request;
use crate::caller::BodySpan;
use crate::caller::{self, Around, Caller, Loss};
use crate::error::LockError;
use crate::handle::Guard;
use crate::queue::Holds;
use crate::queue::{Call, Watch};

/// Opens the scope of a sync body: until the result is dropped, calls of the same lock on this thread re-enter, and the
/// span of the body is entered.
pub fn enter<G: Guard>(guard: &G) -> impl Sized + use<G> {
    caller::enter_body(guard.holds())
}

/// Does only the part of a call that reports to the `tracing` subscriber and the observer. Benchmarks measure this part
/// without a subscriber and an observer.
pub fn watch<G: Guard>(guard: &G) {
    let holds = guard.holds();
    let hold = holds.first();
    let mut watch = Watch::begin(hold.local().member().observer(), || Call {
        labels: hold.grant().labels(),
        name: hold.name(),
        meta: &hold.grant().meta,
        may_wait: true,
    });
    if let Some(watch) = &mut watch {
        watch.granted(holds.all());
    }
    hold.begin();
    let span = BodySpan::of(holds);
    drop(span.enter());
    hold.finish();
}

/// Does only the part of a nested call that records the lock order, as if the call asked for the lock of `guard`.
/// Benchmarks measure this part.
pub fn note_order<G: Guard>(guard: &G) {
    let hold = guard.holds().first();
    let (grant, name) = (hold.grant(), std::slice::from_ref(hold.name()));
    let member = hold.local().member();
    let caller = Caller::current(true);
    let of_call = (grant.label, &*grant.meta);
    let held = caller.holds().map(|hold| hold.in_order());
    member.order().note(held, of_call, name.iter());
}

/// What a body runs under. The expansion declares it before the body, so Rust drops the body first: the body's own
/// values are dropped before the lock is released.
pub trait Surroundings {
    /// Completes when the lock is held. `true`: it was granted during this poll.
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, LockError>>;

    /// `None` unless the lock is held.
    fn parts(&mut self) -> Option<(&Holds, &mut Around)>;
}

/// The lock of a call: first while it is acquired, then while it is held.
#[must_use = "the lock is taken by `under`"]
pub struct Locking<L: Lock> {
    // It ends before the lock is released.
    around: Around,
    stage: Stage<L>,
    // Whether the call was polled before. If so, a granted lock may be lost already, so the body checks for a loss.
    waited: bool,
}

enum Stage<L: Lock> {
    Acquiring(L::Acquire),
    Held(L),
    Failed,
}

/// Makes the lock of a call. The request is sent at the first poll, not here.
pub fn locking<L: Lock>(request: Request<L>) -> Locking<L> {
    Locking {
        around: Around::default(),
        stage: Stage::Acquiring(L::acquire(request)),
        waited: false,
    }
}

impl<L: Lock> Surroundings for Locking<L> {
    #[inline]
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, LockError>> {
        let acquire = match &mut self.stage {
            Stage::Acquiring(acquire) => acquire,
            Stage::Held(_) => return Poll::Ready(Ok(false)),
            Stage::Failed => return Poll::Pending,
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

    #[inline]
    fn parts(&mut self) -> Option<(&Holds, &mut Around)> {
        match &self.stage {
            Stage::Held(guard) => Some((guard.holds(), &mut self.around)),
            Stage::Acquiring(_) | Stage::Failed => None,
        }
    }
}

/// The lock of a call whose guard is a variable of the expansion.
#[must_use = "a body runs under it"]
pub struct Held<'g> {
    around: Around,
    holds: &'g Holds,
}

/// The body begins now.
pub fn held<G: Guard>(guard: &G) -> Held<'_> {
    let holds = guard.holds();
    let mut around = Around::default();
    around.begin(holds);
    Held { around, holds }
}

impl Surroundings for Held<'_> {
    fn poll_held(&mut self, _: &mut Context<'_>) -> Poll<Result<bool, LockError>> {
        Poll::Ready(Ok(false))
    }

    fn parts(&mut self) -> Option<(&Holds, &mut Around)> {
        Some((self.holds, &mut self.around))
    }
}

/// Takes the lock, then runs `body` under it. If the lock is lost, the future ends, and the expansion drops `body`.
///
/// `body` is pinned in place: in a debug build, moving a future into another one copies all of its data.
pub fn under<'a, S: Surroundings, F>(lock: &'a mut S, body: Pin<&'a mut F>) -> Under<'a, S, F> {
    Under {
        lock,
        body,
        finishes: false,
        has_ended: false,
    }
}

/// Like [`under`], but runs `body` to its end, even if the lock is lost.
pub fn under_finishing<'a, S: Surroundings, F>(
    lock: &'a mut S,
    body: Pin<&'a mut F>,
) -> Under<'a, S, F> {
    let mut under = under(lock, body);
    under.finishes = true;
    under
}

/// The future of [`under`].
#[must_use = "futures do nothing unless polled"]
pub struct Under<'a, S: Surroundings, F> {
    lock: &'a mut S,
    body: Pin<&'a mut F>,
    finishes: bool,
    has_ended: bool,
}

impl<S: Surroundings, F: Future> Future for Under<'_, S, F> {
    type Output = Result<F::Output, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // A lock that was granted during this poll needs no check for a loss. The check reads the clock, which would
        // be a good part of the call's time.
        let fresh = ready!(this.lock.poll_held(cx))?;
        let Some((holds, around)) = this.lock.parts() else {
            return Poll::Pending;
        };
        let loss = match (this.finishes, fresh) {
            (true, _) => Loss::Nothing,
            (false, true) => Loss::EndsLater,
            (false, false) => Loss::Ends,
        };
        let output = ready!(around.poll(holds, this.body.as_mut(), loss, cx))?;
        this.has_ended = true;
        Poll::Ready(Ok(output))
    }
}

/// The expansion drops the body next, then the lock.
impl<S: Surroundings, F> Drop for Under<'_, S, F> {
    #[inline]
    fn drop(&mut self) {
        if !self.has_ended
            && let Some((holds, around)) = self.lock.parts()
        {
            around.cancel(holds);
        }
    }
}

/// Runs `body` under a lock that is held, to its end.
pub fn finish<'a, 'g, F: Future>(
    held: &'a mut Held<'g>,
    body: Pin<&'a mut F>,
) -> Finish<'a, 'g, F> {
    Finish(under_finishing(held, body))
}

/// The future of [`finish`].
#[must_use = "futures do nothing unless polled"]
pub struct Finish<'a, 'g, F>(Under<'a, Held<'g>, F>);

impl<F: Future> Future for Finish<'_, '_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let polled = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(
            polled.unwrap_or_else(|error| unreachable!("a loss does not end the body: {error}")),
        )
    }
}
