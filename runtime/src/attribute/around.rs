//! Runs a body under its lock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::lock::Lock;
use super::request::Request;
use crate::caller::{self, Caller};
use crate::error::LockError;
use crate::handle::Guard;
use crate::observe::{BodySpan, Call, Watch};

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
    if member.order().note(caller.holds(), of_call, name.iter()) {
        member.share_new_order();
    }
}

/// Runs `body` under the lock. If the lock is lost, `body` is dropped at its next await.
pub fn run<G: Guard, F: Future>(
    guard: &G,
    body: F,
) -> impl Future<Output = Result<F::Output, LockError>> + use<G, F> {
    caller::run(guard.holds().clone(), body)
}

/// Runs `body` under the lock to its end, even if the lock is lost.
pub fn finish<G: Guard, F: Future>(
    guard: &G,
    body: F,
) -> impl Future<Output = F::Output> + use<G, F> {
    caller::finish(guard.holds().clone(), body)
}

pin_project! {
    /// The lock of a call: first while it is acquired, then while it is held.
    ///
    /// The expansion declares this value before the body, so Rust drops the body first. So the body's own values are
    /// dropped before the lock is released.
    #[must_use = "the lock is taken by `under`"]
    pub struct Locking<A, G> {
        #[pin]
        acquire: Option<A>,
        // The span of the body. It ends before the lock is released.
        span: BodySpan,
        guard: Option<G>,
        // Whether `acquire` was polled before. If so, a granted lock may be lost already, so the body checks for a loss.
        waited: bool,
    }
}

/// Makes the lock of a call. The request is sent at the first poll, not here.
pub fn locking<L: Lock>(
    request: Request<L>,
) -> Locking<impl Future<Output = Result<L, LockError>>, L> {
    Locking {
        acquire: Some(L::acquire(request)),
        span: BodySpan::default(),
        guard: None,
        waited: false,
    }
}

/// Takes the lock, then [`run`]s `body`.
///
/// `lock` and `body` are pinned in place: in a debug build, moving a future into another one copies all of its data.
pub fn under<'a, A, G, F>(
    lock: Pin<&'a mut Locking<A, G>>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    Under {
        lock,
        body,
        finishes: false,
    }
}

/// Takes the lock, then [`finish`]es `body`.
pub fn under_finishing<'a, A, G, F>(
    lock: Pin<&'a mut Locking<A, G>>,
    body: Pin<&'a mut F>,
) -> Under<'a, A, G, F> {
    Under {
        finishes: true,
        ..under(lock, body)
    }
}

/// The future of [`under`]: takes the lock, then runs the body. The expansion drops the body before the lock.
#[must_use = "futures do nothing unless polled"]
pub struct Under<'a, A, G, F> {
    lock: Pin<&'a mut Locking<A, G>>,
    body: Pin<&'a mut F>,
    finishes: bool,
}

impl<A, G, F> Future for Under<'_, A, G, F>
where
    A: Future<Output = Result<G, LockError>>,
    G: Guard,
    F: Future,
{
    type Output = Result<F::Output, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut lock = this.lock.as_mut().project();
        // A lock that was granted during this poll needs no check for a loss. The check reads the clock, which would
        // be a good part of the call's time.
        let mut fresh = false;
        if let Some(acquire) = lock.acquire.as_mut().as_pin_mut() {
            fresh = !std::mem::replace(lock.waited, true);
            let guard = ready!(acquire.poll(cx));
            lock.acquire.set(None);
            let guard = guard?;
            lock.span.begin(guard.holds());
            *lock.guard = Some(guard);
        }
        let Some(guard) = lock.guard else {
            return Poll::Pending;
        };
        let polled = {
            let _entered = lock.span.enter();
            caller::poll_under(guard.holds(), this.body.as_mut(), this.finishes, fresh, cx)
        };
        if polled.is_ready() {
            lock.span.end();
        }
        polled
    }
}
