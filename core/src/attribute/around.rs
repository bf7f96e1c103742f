//! Runs a body under its lock.

use std::future::{Future, Pending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::lock::Lock;
use super::request::Request;
use crate::base::error::LockError;
use crate::caller::{self, Around, BodySpan, Caller, Loss};
use crate::locks::handle::Guard;
use crate::queue::{Holds, Watch};

/// Until the result is dropped, calls of the same lock on this thread re-enter, and the span of the body is entered.
pub fn enter<G: Guard>(guard: &G) -> impl Sized + use<G> {
    caller::enter_body(guard.holds())
}

/// For benchmarks: the part of a call that reports to the `tracing` subscriber and the observer.
pub fn watch<G: Guard>(guard: &G) {
    let holds = guard.holds();
    let hold = holds.first();
    let member = &hold.queue.member;
    let mut watch = Watch::begin(member, hold.labels(), hold.name(), &hold.want().meta, true);
    if let Some(watch) = &mut watch {
        watch.granted(holds.all());
    }
    hold.begin();
    let span = BodySpan::of(holds);
    drop(span.enter());
    hold.finish();
}

/// For benchmarks: the part of a nested call that records the lock order.
pub fn note_order<G: Guard>(guard: &G) {
    let hold = guard.holds().first();
    let (want, name) = (hold.want(), std::slice::from_ref(hold.name()));
    let member = &hold.queue.member;
    let caller = Caller::current(true);
    let of_call = (want.label, &*want.meta);
    let held = caller.holds().map(|hold| hold.in_order());
    member.order.note(held, of_call, name.iter());
}

/// The lock of a call, which a body runs under. The expansion declares it before the body, so Rust drops the body first:
/// the body's own values are dropped before the lock is released.
#[must_use = "the lock is taken by `under`"]
pub struct Locking<A, G> {
    // It ends before the lock is released.
    around: Around,
    stage: Stage<A, G>,
    // The call was polled before: a granted lock may be lost already, so the body checks for a loss.
    waited: bool,
}

enum Stage<A, G> {
    Acquiring(A),
    Held(G),
    Failed,
}

/// The request is sent at the first poll, not here.
pub fn locking<L: Lock>(request: Request<L>) -> Locking<L::Acquire, L> {
    Locking {
        around: Around::default(),
        stage: Stage::Acquiring(L::acquire(request)),
        waited: false,
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
    /// Completes when the lock is held. `true`: it was granted during this poll.
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
}

impl<A, G: Guard> Locking<A, G> {
    /// `None` unless the lock is held.
    #[inline]
    fn parts(&mut self) -> Option<(&Holds, &mut Around)> {
        match &self.stage {
            Stage::Held(guard) => Some((guard.holds(), &mut self.around)),
            Stage::Acquiring(_) | Stage::Failed => None,
        }
    }
}

/// Takes the lock, then runs `body` under it. If the lock is lost, the future ends, and the expansion drops `body`.
/// `body` is pinned in place: in a debug build, moving a future into another one copies all of its data.
pub fn under<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    Under {
        lock,
        body,
        finishes: false,
        has_ended: false,
    }
}

pub fn under_finishing<'a, A, G: Guard, F>(
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    let mut under = under(lock, body);
    under.finishes = true;
    under
}

#[must_use = "futures do nothing unless polled"]
pub struct Under<'a, A, G: Guard, F> {
    lock: &'a mut Locking<A, G>,
    body: Pin<&'a mut F>,
    finishes: bool,
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

impl<A, G: Guard, F> Drop for Under<'_, A, G, F> {
    #[inline]
    fn drop(&mut self) {
        if !self.has_ended
            && let Some((holds, around)) = self.lock.parts()
        {
            around.cancel(holds);
        }
    }
}

/// The output of a body that ran under [`under_finishing`] and a lock that was [`held`] before.
pub fn finish<T>(output: Result<T, LockError>) -> T {
    output.unwrap_or_else(|error| unreachable!("a loss does not end the body: {error}"))
}
