//! Timers: renewals, deadlines, and the end of store timeouts.

use std::sync::Weak;
use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Pending, Ticket, Waiting};
use super::waiter::Waiter;
use crate::base::clock::Instant;
use crate::base::error::{LockError, LossCause, StoreError};
use crate::lease::Bound;
use crate::store::{Closed, HolderRecord, meta};

impl Transition<'_> {
    /// The next time to run the queue. Later timers wait for the next renewal, because most are obsolete by then.
    pub(super) fn next_due(&self) -> Instant {
        let state = &*self.state;
        if state.is_idle() && self.now < state.contention.remembered(self.limits) {
            return state.contention.remembered(self.limits);
        }
        let mut due = self.queue.next_renewal_after(self.now);
        let mut at = |when: Instant| due = due.min(when);
        for ticket in &state.tickets {
            at(ticket.again);
            if let Some(ends) = self.attempt_ends(ticket) {
                at(ends);
            }
            if let Some(held) = ticket.held() {
                at(held.hold.deadline());
                if let Some(warning) = self.slow_holder(held) {
                    at(warning);
                }
                for bound in held.bounds.iter().filter_map(Weak::upgrade) {
                    at(bound.expires());
                }
            }
            for pending in &ticket.pending {
                at(pending.deadline.max(state.spared));
            }
        }
        let warning = self.first_slow_waiter();
        let times = [state.first_deadline, state.look_at_workers, warning];
        times.into_iter().flatten().for_each(&mut at);
        if let Some(since) = self.silent_since()
            // Later waiters usually started later and can wait longer, so the next run checks them.
            && let Some(first) = state.waiters.front()
        {
            let store_timeout = self.queue.store_timeout();
            let ends = first.started.max(since).after(store_timeout);
            at(ends.max(state.spared));
        }
        for query in &state.queries {
            at(query.ends(state.spared).min(query.again));
        }
        due
    }

    pub(super) fn spare(&mut self) {
        let spared = self.state.spared;
        if spared == Instant::START || spared.after(self.limits.suspended_again) <= self.now {
            self.state.spared = self.now.after(self.limits.brief);
        }
    }

    pub(super) fn due(&mut self) {
        for index in 0..self.state.tickets.len() {
            self.due_ticket(index);
            self.answer_late(index);
        }
        self.due_waiters();
        self.due_queries();
        self.warn_of_blocked_workers();
        self.warn_of_slow();
    }

    fn due_ticket(&mut self, index: usize) {
        let (ticket, now) = (&self.state.tickets[index], self.now);
        if ticket.is_kept() {
            self.due_kept(index);
        } else if ticket.held().is_some_and(|held| held.hold.is_lost()) {
            // The hold has already recorded the true cause of the loss.
            self.lose(index, LossCause::NotRenewed, Duration::ZERO);
        } else if self.attempt_ends(ticket).is_some_and(|ends| ends <= now) {
            let error = self.unavailable(self.silence(ticket.trouble.as_ref()));
            self.fail_ticket(index, error);
        } else if ticket.again <= now {
            if ticket.is_resting() {
                self.state.tickets[index].log.since = now;
            }
            self.send(index);
        }
    }

    /// Checks the callers that wait for a renewal's or a release's answer, and the bounds that may be over.
    fn answer_late(&mut self, index: usize) {
        let (now, spared) = (self.now, self.state.spared);
        let ticket = &mut self.state.tickets[index];
        if let Some(held) = ticket.held_mut() {
            let watched = held.bounds.len();
            let goes_on =
                |bound: &Weak<Bound>| bound.upgrade().is_some_and(|bound| !bound.is_over(now));
            held.bounds.retain(goes_on);
            if held.bounds.len() < watched {
                held.hold.listeners.wake(self.wakes);
            }
        }
        let is_late = |pending: &Pending| pending.deadline.max(spared) <= now;
        if ticket.pending.iter().any(is_late) {
            let silence = self.unavailable(self.silence(None));
            let ticket = &mut self.state.tickets[index];
            ticket.answer(is_late, || Err(silence.clone()), self.wakes);
        }
    }

    fn due_waiters(&mut self) {
        let outage = self.outage();
        let first = self.state.first_deadline;
        if outage.is_none() && first.is_none_or(|first| first > self.now) {
            return;
        }
        let store_timeout = self.queue.store_timeout();
        // A waiter whose `block` is over gets at least `brief` from its request on, so that the store can answer.
        // `START` if the store is unreachable.
        let asked = match (self.unreachable(), self.unanswered()) {
            (None, Some((ticket, _))) => ticket.log.since,
            _ => Instant::START,
        };
        let mut first_deadline: Option<Instant> = None;
        for waiter in std::mem::take(&mut self.state.waiters) {
            let ends = match &outage {
                // Not a timeout, because no answer has named a holder. Even a short `block` leaves the store a moment
                // to answer.
                Some((since, _)) => {
                    let brief = waiter.started.max(asked).after(self.limits.brief);
                    let brief = waiter.deadline.max(brief);
                    let ends = brief.min(waiter.started.max(*since).after(store_timeout));
                    ends.max(self.state.spared)
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
            // The outage may end before the waiter fails. From then on only `block` counts.
            let look = ends.min(waiter.deadline.max(self.now.after(self.limits.look_again)));
            first_deadline = Some(first_deadline.map_or(look, |first| first.min(look)));
            self.state.waiters.push_back(waiter);
        }
        self.state.first_deadline = first_deadline;
    }

    /// If the store did not serve the last request, the error is no timeout: the holder from an earlier answer may be
    /// gone.
    fn waited_long(&self, waiter: &Waiter) -> LockError {
        let mut waiting = self.waiting();
        let mut asked = waiting.clone();
        let asked = asked.find(|(_, waiting)| waiting.share == waiter.want.share);
        match asked.and_then(|(ticket, _)| ticket.trouble.clone()) {
            Some(source) => self.unavailable(source),
            None => self.gave_up(
                waiter,
                waiting.find_map(|(_, waiting)| waiting.holder.as_ref()),
            ),
        }
    }

    /// If the store grants nothing and no holder is known, the error is `Unavailable`.
    pub(super) fn gave_up(&self, waiter: &Waiter, holder: Option<&HolderRecord>) -> LockError {
        match self.closed().filter(|_| holder.is_none()) {
            Some(closed) => self.unavailable(closed.error(self.now)),
            None => LockError::Timeout {
                name: self.queue.name.to_string(),
                waited: waiter.waited(self.now),
                holder: holder.and_then(meta::read).map(Box::new),
            },
        }
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.queue.core.closed(&self.queue.name)
    }

    fn unreachable(&self) -> Option<(Instant, StoreError)> {
        self.queue.core.outage(&self.queue.name)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Ticket, &Waiting)> + Clone {
        let tickets = self.state.tickets.iter();
        tickets.filter_map(|ticket| Some((ticket, ticket.waiting()?)))
    }

    /// The first waiting ticket, if the store has not answered it yet.
    fn unanswered(&self) -> Option<(&Ticket, &Waiting)> {
        self.waiting().next().filter(|(_, waiting)| !waiting.queued)
    }

    fn silent_since(&self) -> Option<Instant> {
        let unreachable = self.unreachable().map(|outage| outage.0);
        unreachable.or_else(|| Some(self.unanswered()?.1.unanswered_since))
    }

    /// When the store stopped answering, and the cause; `None` if no answer is missing.
    fn outage(&self) -> Option<(Instant, StoreError)> {
        let since = self.silent_since()?;
        let unanswered = self.unanswered();
        let trouble = unanswered.and_then(|(ticket, _)| ticket.trouble.as_ref());
        Some((since, self.silence(trouble)))
    }

    /// `trouble` is the store's earlier error for the same request.
    pub(super) fn silence(&self, trouble: Option<&StoreError>) -> StoreError {
        match (self.unreachable(), trouble) {
            (Some((_, outage)), _) => outage,
            (None, Some(trouble)) => trouble.clone(),
            (None, None) => StoreError::disconnected("the store did not answer in time"),
        }
    }
}
