//! One local waiter: what it wants, for how long, and the future that gives up cleanly when dropped.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
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

/// What a call has behind it that was granted a lock and lost it before it could look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    pub(crate) waited: Duration,
    pub(crate) attempts: u32,
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
    pub(crate) past: Past,
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

    /// How long the call has waited.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.want.past.waited + self.started.until(now)
    }

    /// What is wanted once more, after so many attempts, in what is left of `block`. Nothing left: what is free all the same.
    fn again(&self, attempts: u32, now: Instant) -> Want {
        let left = now.until(self.deadline);
        let patience = match self.want.patience {
            Patience::Queue(Some(_)) => Patience::block(Some(left)),
            Patience::Poll {
                retries,
                interval,
                block,
            } => match retries.checked_sub(attempts) {
                Some(retries) if !left.is_zero() => Patience::Poll {
                    retries,
                    interval,
                    block: block.map(|_| left),
                },
                _ => Patience::NONE,
            },
            patience @ (Patience::Queue(None) | Patience::Once { .. }) => patience,
        };
        let past = Past {
            waited: self.waited(now),
            attempts: self.want.past.attempts.saturating_add(attempts),
        };
        Want {
            patience,
            past,
            ..self.want.clone()
        }
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
/// is found there. A task that yields leaves its waker to the scheduler of its thread, for later; where there is
/// none, it is woken at once. (Not asked: how much budget there is. A task may be unconstrained.)
pub(super) fn runs_a_task() -> bool {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(woken.clone());
    let yields = pin!(tokio::task::yield_now());
    let _ = yields.poll(&mut Context::from_waker(&waker));
    !woken.0.load(Ordering::Acquire)
}

/// How often in a row a call may be granted a lock that is lost before the call looks.
const MISSES: u32 = 5;

/// Waits for a lock. Dropped before the end, it leaves the queue or gives back what was granted meanwhile.
///
/// A grant may be over when its task is polled or its thread wakes: then it is as if it had not been made, and the call
/// waits on, for what is left of its patience.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire {
    way: Way,
    /// How often it may still miss a grant.
    misses: u32,
}

/// How far it has come.
#[derive(Debug)]
enum Way {
    Waiting(Arc<Local>, Arc<Waiter>),
    Obtained(Arc<Hold>),
    Over,
}

impl Acquire {
    pub(super) fn new(local: Arc<Local>, waiter: Arc<Waiter>) -> Self {
        Self {
            way: Way::Waiting(local, waiter),
            misses: MISSES,
        }
    }

    /// It is there already.
    #[inline]
    pub(super) fn obtained(hold: Arc<Hold>) -> Self {
        Self {
            way: Way::Obtained(hold),
            misses: MISSES,
        }
    }

    /// What is missed cannot be had again.
    pub(super) fn once(mut self) -> Self {
        self.misses = 0;
        self
    }

    /// Completes when the store has the waiter in its queue, or there is nothing to wait for any more.
    pub(crate) async fn registered(&self) {
        if let Way::Waiting(_, waiter) = &self.way {
            waiter.registered.wait().await;
        }
    }

    /// As dropping it, with a promise to wait on until the store has back what was asked for, if anything was.
    pub(crate) fn give_back(mut self) -> Option<Unlocked> {
        match self.leave() {
            Way::Waiting(local, waiter) => local.give_up_confirmed(&waiter),
            Way::Obtained(hold) if hold.unshare() => Some(hold.local().give_back_confirmed(&hold)),
            Way::Obtained(_) | Way::Over => None,
        }
    }

    /// Blocks the thread instead of the task.
    #[inline]
    pub(crate) fn blocking(mut self) -> Result<Arc<Hold>, LockError> {
        loop {
            let (local, waiter) = match self.leave() {
                Way::Waiting(local, waiter) => (local, waiter),
                Way::Obtained(hold) => return Ok(hold),
                Way::Over => return Err(LockError::ShutDown),
            };
            let hold = waiter.blocking_wait()?;
            if waiter.want.relies || hold.is_valid() {
                return Ok(hold);
            }
            self.missed(&local, &waiter, &hold)?;
        }
    }

    /// `hold` was over when the caller looked.
    #[cold]
    fn missed(
        &mut self,
        local: &Local,
        waiter: &Waiter,
        hold: &Arc<Hold>,
    ) -> Result<(), LockError> {
        let lost = hold.lost_error();
        if hold.unshare() {
            hold.local().give_back(hold);
        }
        self.misses = self.misses.checked_sub(1).ok_or(lost)?;
        let want = waiter.again(hold.grant().attempts, Instant::now());
        let member = local.member();
        let mut next = member.with_local(local.name(), |local| local.enter(&want))??;
        self.way = next.leave();
        Ok(())
    }

    fn leave(&mut self) -> Way {
        std::mem::replace(&mut self.way, Way::Over)
    }
}

impl Future for Acquire {
    type Output = Result<Arc<Hold>, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let result = match &self.way {
                Way::Waiting(_, waiter) => ready!(waiter.promise.poll(cx)),
                Way::Obtained(hold) => Ok(hold.clone()),
                Way::Over => return Poll::Pending,
            };
            let (way, hold) = (self.leave(), result?);
            match way {
                Way::Waiting(local, waiter) if !waiter.want.relies && !hold.is_valid() => {
                    self.missed(&local, &waiter, &hold)?;
                }
                Way::Waiting(..) | Way::Obtained(_) | Way::Over => return Poll::Ready(Ok(hold)),
            }
        }
    }
}

impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        match self.leave() {
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
            let unconstrained = tokio::task::unconstrained(async { runs_a_task() });
            assert!(unconstrained.await);
        });
        let _entered = runtime.enter();
        assert!(!runs_a_task());
    }
}
