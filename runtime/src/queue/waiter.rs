//! One local waiter: what it wants, for how long, and the future that gives up cleanly when dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::local::Local;
use super::ticket::Unlocked;
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::{Hold, Terms};
use crate::store::{Owner, Share, Text};
use crate::wait::{Promise, Wakes};

/// How long to wait for a lock, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// In the queue, at most this long; `None`: as long as it takes.
    Queue(Option<Duration>),
    /// Not at all. A store that says nothing may take so long to answer; `None`: as long as with anything else.
    Once { silence: Option<Duration> },
    /// Not at all, but try again this often after such a pause.
    Poll {
        retries: u32,
        interval: Duration,
        block: Option<Duration>,
    },
}

impl Patience {
    /// For calls that do not wait.
    pub(crate) const NONE: Self = Self::Once {
        silence: Some(Duration::ZERO),
    };

    /// As `block` says.
    pub(crate) fn block(block: Option<Duration>) -> Self {
        match block {
            Some(Duration::ZERO) => Self::NONE,
            _ => Self::Queue(block),
        }
    }
}

/// What somebody wants of a name.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) share: Share,
    pub(crate) owner: Option<Owner>,
    pub(crate) terms: Terms,
    pub(crate) patience: Patience,
    /// Who asks, in the form of the store.
    pub(crate) meta: Text,
    /// The thread of the single-threaded runtime that the caller's task lives on.
    pub(crate) home: Option<ThreadId>,
    /// The caller blocks its thread while it waits.
    pub(crate) blocking: bool,
    /// It must be in the store's queue all the time once it is registered: others are told of something only while
    /// they wait.
    pub(crate) relies: bool,
}

/// A place in the local queue.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) want: Want,
    pub(super) started: Instant,
    /// When `block` ends.
    pub(super) deadline: Instant,
    pub(super) promise: Promise<Result<Arc<Hold>, LockError>>,
    /// The store has it in its queue, or there is nothing to wait for any more. Only who relies on it is told.
    pub(super) registered: Promise<()>,
}

impl Waiter {
    pub(super) fn new(want: Want, now: Instant) -> Arc<Self> {
        let block = match want.patience {
            Patience::Queue(block) | Patience::Poll { block, .. } => block,
            Patience::Once { .. } => Some(Duration::ZERO),
        };
        Arc::new(Self {
            deadline: block.map_or(Instant::NEVER, |block| now.after(block)),
            want,
            started: now,
            promise: Promise::new(),
            registered: Promise::new(),
        })
    }

    /// It has what it wants; `false` if it is gone.
    pub(super) fn obtain(&self, hold: Arc<Hold>, wakes: &mut Wakes) -> bool {
        self.note_registered(wakes);
        self.promise.complete(Ok(hold), wakes).is_ok()
    }

    /// It will not get what it wants.
    pub(super) fn fail(&self, error: LockError, wakes: &mut Wakes) {
        self.note_registered(wakes);
        let _ = self.promise.complete(Err(error), wakes);
    }

    pub(super) fn note_registered(&self, wakes: &mut Wakes) {
        if self.want.relies {
            let _ = self.registered.complete((), wakes);
        }
    }

    /// Blocks the thread until the lock is obtained or `block` is over.
    pub(crate) fn blocking_wait(&self) -> Result<Arc<Hold>, LockError> {
        self.promise.blocking_wait()
    }
}

/// Whether this task lives on a runtime with one thread, which is then this one.
///
/// Blocking that thread for a lock that one of its own tasks holds would never end.
pub(crate) fn home() -> Option<ThreadId> {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let handle = Handle::try_current().ok()?;
    (handle.runtime_flavor() == RuntimeFlavor::CurrentThread).then(|| thread::current().id())
}

/// Whether a task of tokio runs on this thread. On a thread for blocking calls none does, although its runtime
/// is found there. Only tasks have a budget of polls; what is taken of it here is given back.
pub(super) fn runs_a_task() -> bool {
    use tokio::task::coop::poll_proceed;
    /// More than any budget.
    const MANY: usize = 512;
    let mut cx = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    let mut ends = false;
    while !ends && taken.len() < MANY {
        match poll_proceed(&mut cx) {
            Poll::Ready(one) => taken.push(one),
            Poll::Pending => ends = true,
        }
    }
    // Each restores what was there before it: the first has the last word.
    while taken.pop().is_some() {}
    ends
}

/// Waits for a lock. Dropped before the end, it leaves the queue or gives back what was granted meanwhile.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire(Way);

/// How far it has come.
#[derive(Debug)]
enum Way {
    Waiting(Arc<Local>, Arc<Waiter>),
    Obtained(Arc<Hold>),
    Over,
}

impl Acquire {
    pub(super) fn new(local: Arc<Local>, waiter: Arc<Waiter>) -> Self {
        Self(Way::Waiting(local, waiter))
    }

    /// It is there already.
    #[inline]
    pub(super) fn obtained(hold: Arc<Hold>) -> Self {
        Self(Way::Obtained(hold))
    }

    /// Completes when the store has the waiter in its queue, or there is nothing to wait for any more.
    pub(crate) async fn registered(&self) {
        if let Way::Waiting(_, waiter) = &self.0 {
            waiter.registered.wait().await;
        }
    }

    /// As dropping it, with a promise to wait on until the store has back what was asked for, if anything was.
    pub(crate) fn give_back(mut self) -> Option<Unlocked> {
        match std::mem::replace(&mut self.0, Way::Over) {
            Way::Waiting(local, waiter) => local.give_up_confirmed(&waiter),
            Way::Obtained(hold) if hold.unshare() => Some(hold.local().give_back_confirmed(&hold)),
            Way::Obtained(_) | Way::Over => None,
        }
    }

    /// Blocks the thread instead of the task.
    #[inline]
    pub(crate) fn blocking(mut self) -> Result<Arc<Hold>, LockError> {
        match std::mem::replace(&mut self.0, Way::Over) {
            Way::Waiting(_, waiter) => waiter.blocking_wait(),
            Way::Obtained(hold) => Ok(hold),
            Way::Over => Err(LockError::ShutDown),
        }
    }
}

impl Future for Acquire {
    type Output = Result<Arc<Hold>, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &self.0 {
            Way::Waiting(_, waiter) => ready!(waiter.promise.poll(cx)),
            Way::Obtained(hold) => Ok(hold.clone()),
            Way::Over => return Poll::Pending,
        };
        self.0 = Way::Over;
        Poll::Ready(result)
    }
}

impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        match std::mem::replace(&mut self.0, Way::Over) {
            Way::Waiting(local, waiter) => local.give_up(&waiter),
            Way::Obtained(hold) if hold.unshare() => hold.local().give_back(&hold),
            Way::Obtained(_) | Way::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_no_wait() {
        assert_eq!(Patience::block(Some(Duration::ZERO)), Patience::NONE);
        for time in [None, Some(Duration::from_nanos(1))] {
            assert_eq!(Patience::block(time), Patience::Queue(time));
        }
    }

    #[test]
    fn only_a_runtime_of_one_thread_is_a_home() {
        use tokio::runtime::Builder;
        assert_eq!(home(), None);
        let here = thread::current().id();
        let one = Builder::new_current_thread().build().unwrap();
        assert_eq!(one.block_on(async { home() }), Some(here));
        let many = Builder::new_multi_thread().worker_threads(1).build();
        assert_eq!(many.unwrap().block_on(async { home() }), None);
    }

    #[test]
    fn a_thread_for_blocking_calls_runs_no_task() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert!(!runs_a_task());
        runtime.block_on(async {
            assert!(runs_a_task());
            assert!(tokio::task::coop::has_budget_remaining());
            assert!(tokio::spawn(async { runs_a_task() }).await.unwrap());
            assert!(!tokio::task::spawn_blocking(runs_a_task).await.unwrap());
        });
        let _entered = runtime.enter();
        assert!(!runs_a_task());
    }
}
