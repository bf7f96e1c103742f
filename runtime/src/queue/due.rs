//! Timers: renewals, deadlines, and the end of store timeouts.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Attempting, Held, Refresher, Ticket, TicketState, Waiting};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::error::{LockError, LossCause, StoreError};
use crate::lease::Bound;
use crate::store::{GrantBlock, HolderRecord, Meta};
use crate::wait::DeferredWakes;

/// How long a call that does not wait tolerates an unresponsive store. It is also the extra time that every call gets
/// after this process was suspended.
pub(super) const BRIEF: Duration = Duration::from_secs(1);
/// How often the engine checks a waiter whose `block` is over while an answer of the store is missing.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// If the engine runs this late, the process was suspended: the machine slept, or did not schedule the process.
pub(super) const STOOD_STILL: Duration = Duration::from_millis(100);
/// For this long after the extra time has ended, another suspension gives no extra time. So no call gets it twice in a
/// row.
const NOT_AGAIN: Duration = Duration::from_secs(2);

impl Transition<'_> {
    /// When the engine should run this queue next. This is never later than the next renewal, because a later timer is
    /// often obsolete when it fires.
    pub(super) fn next_due(&self) -> Instant {
        let state = &*self.state;
        let mut due = self.next_renewal();
        let mut at = |when: Instant| due = due.min(when);
        for ticket in &state.tickets {
            at(ticket.again);
            self.add_deadlines(ticket, &mut at);
        }
        if let Some(first) = state.first_deadline {
            at(first);
        }
        if let Some(look) = state.look_at_workers {
            at(look);
        }
        if let Some(warning) = self.first_slow_waiter() {
            at(warning);
        }
        if let Some(since) = self.silent_since() {
            let store_timeout = self.queue.member().settings().store_timeout();
            // Only the first waiter counts here. Later waiters usually started later and tolerate the outage for
            // longer, so the next run checks them.
            let first = state
                .waiters
                .front()
                .map(|waiter| waiter.started.max(since).after(store_timeout));
            at(first.map_or(Instant::NEVER, |first| first.max(self.spared())));
        }
        for query in &state.queries {
            at(query.ends(self.spared()).min(query.again));
        }
        due
    }

    /// Calls `at` with the times at which `ticket` needs attention, except the time `again`, when its request is sent
    /// again.
    fn add_deadlines(&self, ticket: &Ticket, at: &mut impl FnMut(Instant)) {
        match &ticket.state {
            TicketState::Waiting(_) => {}
            TicketState::Attempting(attempt) => {
                if !ticket.is_resting() {
                    at(self.attempt_ends(ticket.log.since, attempt));
                }
            }
            TicketState::Held(held) => {
                at(held.hold.deadline());
                if let Some(warning) = self.slow_holder(ticket) {
                    at(warning);
                }
                for refresher in &held.refreshers {
                    at(refresher.ends(self.spared()));
                }
                for bound in held.bounds.iter().filter_map(Weak::upgrade) {
                    at(bound.expires());
                }
            }
            TicketState::Leaving(leaving) => {
                if let Some((deadline, _)) = &leaving.unlocker {
                    at((*deadline).max(self.spared()));
                }
            }
        }
    }

    /// Gives the store more time to answer, because this process was suspended and could not read answers.
    pub(super) fn spare(&mut self) {
        let again = self.spared().after(NOT_AGAIN);
        if self.state.spared.is_none() || again <= self.now {
            self.state.spared = Some(self.now.after(BRIEF));
        }
    }

    pub(super) fn spared(&self) -> Instant {
        self.state.spared.unwrap_or(Instant::START)
    }

    pub(super) fn due(&mut self) {
        self.due_held();
        self.due_waiting();
        self.due_waiters();
        self.due_attempts();
        self.due_leaving();
        self.due_queries();
        self.warn_of_blocked_workers();
        self.warn_of_slow();
    }

    fn due_held(&mut self) {
        let spared = self.spared();
        for index in 0..self.state.tickets.len() {
            let ticket = &self.state.tickets[index];
            let Some(held) = ticket.held() else {
                continue;
            };
            if held.hold.is_lost() {
                // The hold has already marked itself as lost, with the true cause.
                self.lose(index, LossCause::NotRenewed);
                continue;
            }
            if ticket.again <= self.now {
                self.send(index);
            }
            let late = |asked: &Refresher| asked.ends(spared) <= self.now;
            let held = self.state.tickets[index].held();
            let silence = held
                .filter(|held| held.refreshers.iter().any(late))
                .map(|_| self.unavailable(self.silence(None)));
            if let Some(held) = self.state.tickets[index].held_mut() {
                held.due(self.now, spared, silence.as_ref(), self.wakes);
            }
        }
    }

    /// Sends the requests of the waiting tickets that are due.
    fn due_waiting(&mut self) {
        for index in 0..self.state.tickets.len() {
            let ticket = &self.state.tickets[index];
            if ticket.waiting().is_some() && ticket.again <= self.now {
                self.send(index);
            }
        }
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
        let store_timeout = self.queue.member().settings().store_timeout();
        // When the unanswered ticket was made, which may be later than the start of the waiter. A waiter whose `block` is
        // over fails no earlier than `BRIEF` after that, so that the store can answer. `START`: do not wait for an
        // answer, because the store is unreachable.
        let asked = match self.unreachable() {
            Some(_) => Instant::START,
            None => self
                .unanswered()
                .map_or(Instant::START, |(ticket, _)| ticket.log.since),
        };
        let mut first_deadline: Option<Instant> = None;
        for waiter in std::mem::take(&mut self.state.waiters) {
            let ends = match &outage {
                // The error is not a timeout, because no answer has named a holder. Even with a short `block`, the
                // store gets a moment to answer.
                Some((since, _)) => {
                    let asked = waiter.started.max(asked).after(BRIEF);
                    let brief = waiter.deadline.max(asked);
                    let ends = brief.min(waiter.started.max(*since).after(store_timeout));
                    ends.max(self.spared())
                }
                None => waiter.deadline,
            };
            if ends <= self.now {
                let error = match &outage {
                    Some((_, error)) => self.unavailable(error.clone()),
                    None => self.waited_long(&waiter),
                };
                waiter.fail(error, self.wakes);
                continue;
            }
            // The outage may end before the waiter fails. Then only `block` counts, so the engine must check again
            // soon.
            let look = ends.min(waiter.deadline.max(self.now.after(LOOK_AGAIN)));
            first_deadline = Some(first_deadline.map_or(look, |first| first.min(look)));
            self.state.waiters.push_back(waiter);
        }
        self.state.first_deadline = first_deadline;
    }

    /// The error of a `waiter` whose `block` is over. If the store did not serve the last request, the error is not a
    /// timeout, because the holder of an earlier answer may be gone.
    fn waited_long(&self, waiter: &Waiter) -> LockError {
        let mut waiting = self.state.tickets.iter().filter_map(Ticket::waiting);
        let ticket = waiting
            .clone()
            .find(|ticket| ticket.share == waiter.want.share);
        match ticket.and_then(|ticket| ticket.trouble.clone()) {
            Some(source) => self.unavailable(source),
            None => self.gave_up(waiter, waiting.find_map(|ticket| ticket.holder.as_ref())),
        }
    }

    /// The timeout error of `waiter`. `holder` held the name according to the store's last answer.
    pub(super) fn timeout(&self, waiter: &Waiter, holder: Option<&HolderRecord>) -> LockError {
        LockError::Timeout {
            name: self.queue.name().to_string(),
            waited: waiter.waited(self.now),
            holder: holder.and_then(Meta::read).map(Box::new),
        }
    }

    /// Like [`timeout`](Self::timeout), but returns `Unavailable` if the store grants nothing and no holder is known.
    pub(super) fn gave_up(&self, waiter: &Waiter, holder: Option<&HolderRecord>) -> LockError {
        match self.closing().filter(|_| holder.is_none()) {
            Some(closing) => self.unavailable(closing.error(self.now)),
            None => self.timeout(waiter, holder),
        }
    }

    pub(super) fn closing(&self) -> Option<GrantBlock> {
        self.queue.member().closing(self.queue.name())
    }

    fn unreachable(&self) -> Option<(Instant, StoreError)> {
        self.queue.member().outage(self.queue.name())
    }

    /// When the store stopped answering; `None` if no answer is missing.
    fn silent_since(&self) -> Option<Instant> {
        let unreachable = self.unreachable().map(|outage| outage.0);
        unreachable.or_else(|| Some(self.unanswered()?.1.unanswered_since))
    }

    /// The first waiting ticket, if the store has not answered it yet.
    fn unanswered(&self) -> Option<(&Ticket, &Waiting)> {
        let tickets = self.state.tickets.iter();
        let mut waiting = tickets.filter_map(|ticket| Some((ticket, ticket.waiting()?)));
        waiting.next().filter(|(_, waiting)| !waiting.queued)
    }

    /// When the store stopped answering, and the cause; `None` if no answer is missing.
    fn outage(&self) -> Option<(Instant, StoreError)> {
        let since = self.silent_since()?;
        let trouble = self
            .unanswered()
            .and_then(|(_, waiting)| waiting.trouble.as_ref());
        Some((since, self.silence(trouble)))
    }

    /// The error that explains a missing answer. `trouble`: the store's earlier error for the same request.
    pub(super) fn silence(&self, trouble: Option<&StoreError>) -> StoreError {
        match (self.unreachable(), trouble) {
            (Some((_, outage)), _) => outage,
            (None, Some(trouble)) => trouble.clone(),
            (None, None) => StoreError::disconnected("the store did not answer in time"),
        }
    }

    /// When the queue stops waiting for the answer to an attempt that was made at `since`.
    fn attempt_ends(&self, since: Instant, attempt: &Attempting) -> Instant {
        let store_timeout = self.queue.member().settings().store_timeout();
        let silence = attempt.waiter.want.patience.silence();
        let silence = store_timeout.min(silence.unwrap_or(store_timeout).max(BRIEF));
        since.after(silence).max(self.spared())
    }

    fn due_attempts(&mut self) {
        for index in 0..self.state.tickets.len() {
            let ticket = &self.state.tickets[index];
            let Some(attempt) = ticket.attempting() else {
                continue;
            };
            let rests = ticket.is_resting();
            if !rests && self.attempt_ends(ticket.log.since, attempt) <= self.now {
                let source = self.silence(attempt.trouble.as_ref());
                let waiter = attempt.waiter.clone();
                self.withdraw(index);
                let error = self.unavailable(source);
                waiter.fail(error, self.wakes);
            } else if ticket.again <= self.now {
                if rests {
                    self.state.tickets[index].log.since = self.now;
                }
                self.send(index);
            }
        }
    }

    fn due_leaving(&mut self) {
        let spared = self.spared();
        for index in 0..self.state.tickets.len() {
            let again = self.state.tickets[index].again;
            let Some(leaving) = self.state.tickets[index].leaving_mut() else {
                continue;
            };
            let over = |deadline: Instant| deadline.max(spared) <= self.now;
            let late = leaving.unlocker.take_if(|unlocker| over(unlocker.0));
            if again <= self.now {
                self.send(index);
            }
            if let Some((_, promise)) = late {
                let error = self.unavailable(self.silence(None));
                let _ = promise.complete(Err(error), self.wakes);
            }
        }
    }
}

impl Held {
    /// Notifies the callers whose bound has ended. If the store does not answer (`silence`), fails the callers whose
    /// store timeout is over. `spared` is the end of the extra time that the store has to answer.
    fn due(
        &mut self,
        now: Instant,
        spared: Instant,
        silence: Option<&LockError>,
        wakes: &mut DeferredWakes,
    ) {
        let watched = self.bounds.len();
        let goes_on = |bound: Arc<Bound>| !bound.is_over(now);
        self.bounds
            .retain(|bound| bound.upgrade().is_some_and(goes_on));
        if self.bounds.len() < watched {
            self.hold.wake(wakes);
        }
        let Some(silence) = silence else {
            return;
        };
        for late in self
            .refreshers
            .extract_if(.., |asked| asked.ends(spared) <= now)
        {
            let _ = late.promise.complete(Err(silence.clone()), wakes);
        }
    }
}
