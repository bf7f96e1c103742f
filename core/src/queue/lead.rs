//! [`Lead`]: the term of a leader, around the rules of `auto_mutex_protocol::leading`. The background thread looks at
//! it, so that a leader whose own thread hangs is found, too.

use std::sync::Arc;

use auto_mutex_protocol::leading::{Effect, Input, Rules, Seen, Term};
use tokio::sync::Notify;

use super::hold::Hold;
use crate::base::clock::{self, Instant};
use crate::base::error::{LockError, LossCause};
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicU64, Ordering};
use crate::base::wait::{DeferredWakes, has_told, lock};
use crate::lease::Bound;
use crate::observe::{CallerLocation, HOLD};

pub(crate) struct Lead {
    hold: Arc<Hold>,
    rules: Rules,
    term: Mutex<Term>,
    /// Over when the body is told to end. The hold goes on until the body has ended.
    told: Arc<Bound>,
    /// By when the leader must report progress, also while its body ends.
    stalls: AtomicU64,
    ended: Notify,
}

impl Lead {
    pub(crate) fn new(hold: Arc<Hold>, rules: Rules) -> Arc<Self> {
        let now = clock::now();
        Arc::new(Self {
            hold,
            rules,
            term: Mutex::new(Term::new(rules)),
            told: Bound::open(now),
            stalls: AtomicU64::new(rules.stalls_at(now).as_nanos()),
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
        let stalls = self.rules.stalls_at(clock::now());
        self.stalls.store(stalls.as_nanos(), Ordering::Release);
    }

    /// Tells the body to end. Only the first cause counts.
    pub(crate) fn tell(&self, cause: LossCause) {
        let mut wakes = DeferredWakes::default();
        self.on(Input::Tell(cause), clock::now(), &mut wakes);
        wakes.wake();
        self.hold.queue.core.timers.interrupt();
    }

    /// Runs what is due, and returns when to look again. The validity may have been extended by then.
    pub(super) fn look(&self, now: Instant, wakes: &mut DeferredWakes) -> Instant {
        self.on(Input::Look, now, wakes)
    }

    fn on(&self, input: Input, now: Instant, wakes: &mut DeferredWakes) -> Instant {
        let seen = Seen {
            now,
            lost: self.hold.loss(),
            valid: self.hold.valid(),
            stalls: Instant::from_nanos(self.stalls.load(Ordering::Acquire)),
        };
        let mut effects = Vec::new();
        let mut term = lock(&self.term);
        let again = term.on(input, &seen, &mut effects);
        if let Some(cause) = term.told() {
            // Before the mutex is unlocked, so that whoever tells it as well finds it told.
            self.told.end(cause);
            // Each time, in case the body registered its waker while it was told.
            self.hold.listeners.wake(wakes);
        }
        drop(term);
        for effect in effects {
            match effect {
                Effect::Tell(_) => {}
                Effect::Overrun { cause, aborts } => self.overrun(cause, aborts, wakes),
                Effect::GiveUp => drop(self.hold.unlock()),
            }
        }
        again
    }

    fn overrun(&self, cause: LossCause, aborts: bool, wakes: &mut DeferredWakes) {
        let (name, meta) = (self.hold.name().clone(), self.hold.want().meta.clone());
        let (token, stop_within) = (self.hold.grant.token, self.rules.stop_within());
        let report = move || {
            let site = CallerLocation(&meta);
            tracing::error!(target: HOLD, %name, term = token, %site, %cause, ?stop_within, aborts, "a leader did not stop in time");
        };
        if aborts {
            let mut last = DeferredWakes::default();
            last.report(report);
            last.wake();
            if let Some(witness) = self.hold.queue.core.witness() {
                return witness.aborts();
            }
            let limit = self.hold.queue.core.limits.last_words;
            let ends = clock::now().after(limit);
            while !has_told() && clock::now() < ends {
                std::thread::sleep(limit / 20);
            }
            std::process::abort();
        }
        wakes.report(report);
    }

    /// The body has ended.
    pub(super) fn end(&self) {
        let mut wakes = DeferredWakes::default();
        self.on(Input::Ended, clock::now(), &mut wakes);
        wakes.wake();
        self.ended.notify_waiters();
    }

    /// Completes when the body has ended.
    pub(crate) async fn ended(&self) {
        let mut ended = std::pin::pin!(self.ended.notified());
        ended.as_mut().enable();
        if !lock(&self.term).has_ended() {
            ended.await;
        }
    }
}
