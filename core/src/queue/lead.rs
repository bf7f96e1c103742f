//! [`Lead`]: one term of a leader. It says when the body is told to end, and what happens to a body that does not. The
//! background thread looks at it, so that a leader whose own thread hangs is found, too.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::hold::Hold;
use crate::base::clock::{self, Instant};
use crate::base::error::{LockError, LossCause};
use crate::base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::base::wait::{DeferredWakes, has_told};
use crate::lease::Bound;
use crate::observe::{CallerLocation, HOLD};

/// How long an aborting process waits for the subscriber. The body's time ends this much earlier.
const LAST_WORDS: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub(crate) struct LeadRules {
    /// How long a body may run after it was told to end.
    pub(crate) stop_within: Duration,
    /// The longest time between two reports of progress.
    pub(crate) progress: Duration,
    /// If an overrun aborts the process: how long before the end of the validity. A busy machine may do it late.
    pub(crate) aborts: Option<Duration>,
}

impl LeadRules {
    /// When the body must be told to end, for a lease that is valid until `valid`.
    pub(crate) fn tells_at(&self, valid: Instant) -> Instant {
        self.ends_at(valid).before(self.stop_within)
    }

    fn ends_at(&self, valid: Instant) -> Instant {
        valid.before(self.aborts.unwrap_or_default())
    }
}

pub(crate) struct Lead {
    hold: Arc<Hold>,
    rules: LeadRules,
    /// Ends when the body is told to end. The hold goes on until the body has ended.
    told: Arc<Bound>,
    /// By when the leader must report progress, also while its body ends.
    stalls: AtomicU64,
    /// By when a body that was told to end must have ended.
    ends: AtomicU64,
    overran: AtomicBool,
    over: AtomicBool,
    ended: Notify,
}

impl Lead {
    pub(crate) fn new(hold: Arc<Hold>, rules: LeadRules) -> Arc<Self> {
        let now = clock::now();
        Arc::new(Self {
            hold,
            rules,
            told: Bound::open(now),
            stalls: AtomicU64::new(now.after(rules.progress).as_nanos()),
            ends: AtomicU64::new(Instant::NEVER.as_nanos()),
            overran: AtomicBool::new(false),
            over: AtomicBool::new(false),
            ended: Notify::new(),
        })
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    /// The bound of the body.
    pub(crate) fn bound(&self) -> Arc<Bound> {
        self.told.clone()
    }

    /// The error once the body was told to end.
    pub(crate) fn check(&self) -> Result<(), LockError> {
        let now = clock::now();
        match self.told.is_over(now) {
            true => Err(self.hold.lost_by(self.told.cause())),
            false => Ok(()),
        }
    }

    pub(crate) fn progress(&self) {
        let stalls = clock::now().after(self.rules.progress);
        self.stalls.store(stalls.as_nanos(), Ordering::Release);
    }

    /// Tells the body to end. Only the first cause counts.
    pub(crate) fn tell(&self, cause: LossCause) {
        let mut wakes = DeferredWakes::default();
        self.tell_at(clock::now(), cause, &mut wakes);
        wakes.wake();
        self.hold.queue.core.timers.interrupt();
    }

    fn tell_at(&self, now: Instant, cause: LossCause, wakes: &mut DeferredWakes) {
        if !self.told.end(cause) {
            return;
        }
        // After the end of the validity, the next leader may begin.
        let latest = self.rules.ends_at(self.hold.valid());
        let ends = now.after(self.rules.stop_within).min(latest);
        self.ends.store(ends.as_nanos(), Ordering::Release);
        self.hold.listeners.wake(wakes);
    }

    /// Runs what is due, and returns when to look again. The validity may have been extended by then.
    pub(super) fn look(&self, now: Instant, wakes: &mut DeferredWakes) -> Instant {
        let margin = self.rules.tells_at(self.hold.valid());
        let stalls = read(&self.stalls);
        let cause = match self.hold.loss() {
            Some(cause) => Some(cause),
            None if margin <= now => Some(LossCause::NotRenewed),
            None => (stalls <= now).then_some(LossCause::Stalled),
        };
        if let Some(cause) = cause {
            self.tell_at(now, cause, wakes);
        }
        let ends = match (read(&self.ends), self.rules.aborts) {
            (Instant::NEVER, _) => return margin.min(stalls),
            (ends, Some(_)) => ends.before(LAST_WORDS),
            (ends, None) => ends,
        };
        // Again, in case the body registered its waker while it was told.
        self.hold.listeners.wake(wakes);
        if ends > now || self.over.load(Ordering::Acquire) {
            return ends;
        }
        if !self.overran.swap(true, Ordering::AcqRel) {
            self.overrun(wakes);
        }
        if stalls > now {
            return stalls;
        }
        // A body that hangs must not lead for ever, whatever ended its term.
        if self.hold.is_valid() {
            drop(self.hold.unlock());
        }
        Instant::NEVER
    }

    fn overrun(&self, wakes: &mut DeferredWakes) {
        let (name, meta) = (self.hold.name().clone(), self.hold.want().meta.clone());
        let (token, cause) = (self.hold.grant.token, self.told.cause());
        let (stop_within, aborts) = (self.rules.stop_within, self.rules.aborts.is_some());
        let report = move || {
            let site = CallerLocation(&meta);
            tracing::error!(target: HOLD, %name, term = token, %site, %cause, ?stop_within, aborts, "a leader did not stop in time");
        };
        if aborts {
            let mut last = DeferredWakes::default();
            last.report(report);
            last.wake();
            #[cfg(any(test, feature = "test-util"))]
            if let Some(witness) = self.hold.queue.core.witness() {
                return witness.aborts();
            }
            let ends = clock::now().after(LAST_WORDS);
            while !has_told() && clock::now() < ends {
                std::thread::sleep(LAST_WORDS / 20);
            }
            std::process::abort();
        }
        wakes.report(report);
    }

    /// The body has ended.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    /// Completes when the body has ended.
    pub(crate) async fn ended(&self) {
        let mut ended = std::pin::pin!(self.ended.notified());
        ended.as_mut().enable();
        if !self.over.load(Ordering::Acquire) {
            ended.await;
        }
    }
}

fn read(time: &AtomicU64) -> Instant {
    Instant::from_nanos(time.load(Ordering::Acquire))
}
