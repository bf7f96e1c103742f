//! A point in time has come: renewals, deadlines, the end of patience.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Ask, Attempt};
use super::waiter::{Patience, Waiter};
use crate::clock::Instant;
use crate::error::{LockError, StoreError};
use crate::lease::Bound;
use crate::store::{Closing, HolderRecord, Meta};

/// How long a call that does not want to wait puts up with a store that does not answer; and any call, after this
/// process has stood still.
pub(super) const BRIEF: Duration = Duration::from_secs(1);
/// How often a waiter whose `block` is over is looked at while the store owes an answer.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Who looks so late has stood still: the machine slept, or let this process not run.
pub(super) const STOOD_STILL: Duration = Duration::from_millis(100);
/// How long after it was believed it is not believed again.
const NOT_AGAIN: Duration = Duration::from_secs(10);

impl Transition<'_> {
    /// When the engine should look here: at the next beat at the latest. Points in time that are far away
    /// would stay with the engine until then, long after what they were for is over.
    pub(super) fn next_due(&self) -> Instant {
        let state = &*self.state;
        let mut due = self.next_beat();
        let mut at = |when: Instant| due = due.min(when);
        for held in &state.held {
            at(held.renew.min(held.hold.deadline()));
            for refresher in &held.refreshers {
                at(refresher.deadline);
            }
            for bound in held.bounds.iter().filter_map(Weak::upgrade) {
                at(bound.expires());
            }
        }
        if let Some(first) = state.first_deadline {
            at(first);
        }
        for ask in &state.asks {
            at(ask.again);
        }
        if let Some(since) = self.silent_since() {
            let patience = self.local.member().settings().patience;
            // Waiters that came later have patience for longer: looked at again then.
            let first = state
                .waiters
                .front()
                .map(|waiter| waiter.started.max(since).after(patience));
            at(first.map_or(Instant::NEVER, |first| first.max(self.spared())));
        }
        for attempt in &state.attempts {
            at(attempt.again);
            at(attempt.next.unwrap_or_else(|| self.attempt_ends(attempt)));
        }
        for leaving in &state.leaving {
            at(leaving.again);
            at(leaving
                .unlocker
                .as_ref()
                .map_or(Instant::NEVER, |unlocker| unlocker.0.max(self.spared())));
        }
        for query in &state.queries {
            at(query.deadline.min(query.again));
        }
        due
    }

    /// Time went by in which the store may have answered, and nobody was there to hear it.
    pub(super) fn spare(&mut self) {
        let again = self.spared().after(NOT_AGAIN);
        if self.state.spared.is_none() || again <= self.now {
            self.state.spared = Some(self.now.after(BRIEF));
        }
    }

    fn spared(&self) -> Instant {
        self.state.spared.unwrap_or(Instant::START)
    }

    pub(super) fn due(&mut self) {
        self.due_held();
        let now = self.now;
        self.ask_again(|ask| ask.again <= now);
        self.due_waiters();
        self.due_attempts();
        self.due_leaving();
        self.due_queries();
    }

    fn due_held(&mut self) {
        let mut all = std::mem::take(&mut self.state.held);
        for lost in all.extract_if(.., |held| held.hold.is_lost()) {
            self.lose(lost);
        }
        let now = self.now;
        for held in &mut all {
            if held.renew <= now {
                self.touch_held(held);
            }
            let watched = held.bounds.len();
            let goes_on = |bound: Arc<Bound>| !bound.is_over(now);
            held.bounds
                .retain(|bound| bound.upgrade().is_some_and(goes_on));
            if held.bounds.len() < watched {
                held.hold.wake(self.wakes);
            }
            for late in held
                .refreshers
                .extract_if(.., |asked| asked.deadline <= now)
            {
                let error = LockError::Unavailable {
                    source: self.silence(),
                };
                let _ = late.promise.complete(Err(error), self.wakes);
            }
        }
        self.state.held.append(&mut all);
    }

    fn due_waiters(&mut self) {
        let outage = self.outage();
        let overdue = self
            .state
            .first_deadline
            .is_some_and(|first| first <= self.now);
        if !overdue && outage.is_none() {
            return;
        }
        let patience = self.local.member().settings().patience;
        // A ticket may be newer than its waiter.
        let asked = match self.unreachable() {
            Some(_) => Instant::START,
            None => self
                .unanswered()
                .map_or(Instant::START, |ask| ask.log.since),
        };
        let mut first_deadline: Option<Instant> = None;
        for waiter in std::mem::take(&mut self.state.waiters) {
            let ends = match &outage {
                // Not a timeout: nobody knows who holds. A short `block` gets a moment for the answer.
                Some((since, _)) => {
                    let asked = waiter.started.max(asked).after(BRIEF);
                    let brief = waiter.deadline.max(asked);
                    let ends = brief.min(waiter.started.max(*since).after(patience));
                    ends.max(self.spared())
                }
                None => waiter.deadline,
            };
            if ends <= self.now {
                let error = match &outage {
                    Some((_, error)) => LockError::Unavailable {
                        source: error.clone(),
                    },
                    None => self.waited_long(&waiter),
                };
                waiter.fail(error, self.wakes);
                continue;
            }
            // The outage may end before: then `block` alone counts again.
            let look = ends.min(waiter.deadline.max(self.now.after(LOOK_AGAIN)));
            first_deadline = Some(first_deadline.map_or(look, |first| first.min(look)));
            self.state.waiters.push_back(waiter);
        }
        self.state.first_deadline = first_deadline;
    }

    /// `waiter` has waited enough. If the store did not serve the last request, who held before says nothing.
    fn waited_long(&self, waiter: &Waiter) -> LockError {
        let mut asks = self.state.asks.iter();
        let ask = asks.find(|ask| ask.share == waiter.want.share);
        match ask.and_then(|ask| ask.trouble.clone()) {
            Some(source) => LockError::Unavailable { source },
            None => {
                let holder = self.state.asks.iter().find_map(|ask| ask.holder.as_ref());
                self.gave_up(waiter, holder)
            }
        }
    }

    /// `waiter` has waited enough; `holder` held the name at the last answer.
    pub(super) fn timeout(&self, waiter: &Waiter, holder: Option<&HolderRecord>) -> LockError {
        LockError::Timeout {
            name: self.local.name().to_string(),
            waited: waiter.waited(self.now),
            holder: holder.and_then(Meta::read),
        }
    }

    /// As [`timeout`](Self::timeout); but if nobody is known to hold, and the store grants nothing, it is no timeout.
    pub(super) fn gave_up(&self, waiter: &Waiter, holder: Option<&HolderRecord>) -> LockError {
        match self.closing().filter(|_| holder.is_none()) {
            Some(closing) => LockError::Unavailable {
                source: closing.error(self.now),
            },
            None => self.timeout(waiter, holder),
        }
    }

    pub(super) fn closing(&self) -> Option<Closing> {
        self.local.member().closing(self.local.name())
    }

    fn unreachable(&self) -> Option<(Instant, StoreError)> {
        self.local.member().outage(self.local.name())
    }

    /// Since when nothing can be known of the store.
    fn silent_since(&self) -> Option<Instant> {
        let unreachable = self.unreachable().map(|outage| outage.0);
        unreachable.or_else(|| Some(self.unanswered()?.owed))
    }

    /// The first ticket, if the store has said nothing about it.
    fn unanswered(&self) -> Option<&Ask> {
        self.state.asks.first().filter(|ask| !ask.queued)
    }

    /// Since when nothing can be known of the store, and why.
    fn outage(&self) -> Option<(Instant, StoreError)> {
        self.unreachable().or_else(|| {
            let ask = self.unanswered()?;
            let trouble = ask.trouble.clone().unwrap_or_else(unanswered);
            Some((ask.owed, trouble))
        })
    }

    /// Why there is no answer.
    pub(super) fn silence(&self) -> StoreError {
        self.unreachable()
            .map_or_else(unanswered, |outage| outage.1)
    }

    /// When an attempt without an answer is given up.
    fn attempt_ends(&self, attempt: &Attempt) -> Instant {
        let patience = self.local.member().settings().patience;
        let silence = match attempt.waiter.want.patience {
            Patience::Queue(time)
            | Patience::Once { silence: time }
            | Patience::Poll { block: time, .. } => time.unwrap_or(patience),
        };
        let silence = patience.min(silence.max(BRIEF));
        attempt.log.since.after(silence).max(self.spared())
    }

    fn due_attempts(&mut self) {
        for mut attempt in std::mem::take(&mut self.state.attempts) {
            match attempt.next {
                Some(next) if next <= self.now => {
                    attempt.next = None;
                    self.attempt(attempt.waiter, None, attempt.number + 1);
                }
                None if self.attempt_ends(&attempt) <= self.now => {
                    self.withdraw(&attempt.log);
                    let away = self.unreachable().map(|outage| outage.1);
                    let source = away.or(attempt.trouble).unwrap_or_else(unanswered);
                    let error = LockError::Unavailable { source };
                    attempt.waiter.fail(error, self.wakes);
                }
                None if attempt.again <= self.now => {
                    attempt.again = Instant::NEVER;
                    self.send_attempt(&mut attempt);
                    self.state.attempts.push(attempt);
                }
                _ => self.state.attempts.push(attempt),
            }
        }
    }

    fn due_leaving(&mut self) {
        let mut all = std::mem::take(&mut self.state.leaving);
        let spared = self.spared();
        for leaving in &mut all {
            if leaving.again <= self.now {
                self.send_leaving(leaving);
            }
            let over = |deadline: Instant| deadline.max(spared) <= self.now;
            if let Some((_, promise)) = leaving.unlocker.take_if(|unlocker| over(unlocker.0)) {
                let error = LockError::Unavailable {
                    source: self.silence(),
                };
                let _ = promise.complete(Err(error), self.wakes);
            }
        }
        self.state.leaving.append(&mut all);
    }
}

fn unanswered() -> StoreError {
    StoreError::disconnected("the store did not answer in time")
}
