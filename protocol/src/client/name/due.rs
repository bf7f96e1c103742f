//! Timers: renewals, deadlines, and the end of store timeouts.

use core::time::Duration;

use super::call::Caller;
use super::input::Failure;
use super::ticket::{Pending, Ticket, Waiting};
use super::{ClientTimes, Env, State, Step};
use crate::{HolderRecord, Instant, LossCause, StoreError};

impl<C: Caller> State<C> {
    /// The next time to run the state without an event: see [`Input::Due`](super::Input::Due). Later timers wait for
    /// the next renewal, because most are obsolete by then.
    #[inline]
    pub fn next_due(&self, env: &Env<'_>) -> Instant {
        if self.is_idle() {
            let remembered = self.contention.remembered(env.limits);
            if env.now < remembered {
                return remembered;
            }
        }
        let ClientTimes { store_timeout, .. } = *env.client;
        let mut due = env.client.renewal_after(env.now);
        let mut at = |when: Instant| due = due.min(when);
        for ticket in &self.tickets {
            at(ticket.again);
            if let Some(ends) = self.attempt_ends(ticket, env) {
                at(ends);
            }
            if let Some(held) = ticket.held() {
                at(held.hold.deadline());
            }
            for pending in &ticket.pending {
                at(pending.deadline.max(self.spared));
            }
        }
        if let Some(first) = self.first_deadline {
            at(first);
        }
        if let Some(since) = self.silent_since(env)
            // Later waiters usually started later and can wait longer, so the next run checks them.
            && let Some(first) = self.waiters.front()
        {
            let ends = first.call().started.max(since).after(store_timeout);
            at(ends.max(self.spared));
        }
        for query in &self.queries {
            at(query.ends(self.spared).min(query.again));
        }
        due
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Ticket<C>, &Waiting)> + Clone {
        let tickets = self.tickets.iter();
        tickets.filter_map(|ticket| Some((ticket, ticket.waiting()?)))
    }

    /// The first waiting ticket, if the store has not answered it yet.
    fn unanswered(&self) -> Option<(&Ticket<C>, &Waiting)> {
        self.waiting().next().filter(|(_, waiting)| !waiting.queued)
    }

    fn silent_since(&self, env: &Env<'_>) -> Option<Instant> {
        let unreachable = env.outage.as_ref().map(|outage| outage.0);
        unreachable.or_else(|| Some(self.unanswered()?.1.unanswered_since))
    }
}

impl<C: Caller> Step<'_, '_, C> {
    pub(super) fn spare(&mut self) {
        let spared = self.state.spared;
        if spared == Instant::START || spared.after(self.limits.suspended_again) <= self.now {
            self.state.spared = self.now.after(self.limits.brief);
        }
    }

    pub(super) fn due(&mut self) {
        for index in 0..self.state.tickets.len() {
            self.due_ticket(index);
            self.confirm_late(index);
        }
        self.due_waiters();
        self.due_queries();
    }

    fn due_ticket(&mut self, index: usize) {
        let (ticket, now) = (&self.state.tickets[index], self.now);
        if ticket.is_kept() {
            self.due_kept(index);
        } else if ticket.held().is_some_and(|held| !held.hold.is_valid(now)) {
            self.lose(index, LossCause::NotRenewed, Duration::ZERO);
        } else if self
            .state
            .attempt_ends(ticket, self.env)
            .is_some_and(|ends| ends <= now)
        {
            let error = Failure::Unavailable(self.silence(ticket.trouble.as_ref()));
            self.fail_ticket(index, error);
        } else if ticket.again <= now {
            if ticket.is_resting() {
                self.state.tickets[index].log.since = now;
            }
            self.send(index);
        }
    }

    /// Answers the callers that have waited too long for a renewal's or a release's answer.
    fn confirm_late(&mut self, index: usize) {
        let (now, spared) = (self.now, self.state.spared);
        let Some(ticket) = self.state.tickets.get(index) else {
            return;
        };
        let is_late = |pending: &Pending| pending.deadline.max(spared) <= now;
        if ticket.pending.iter().any(is_late) {
            let silence = Failure::Unavailable(self.silence(None));
            let ticket = &mut self.state.tickets[index];
            ticket.confirm(is_late, || Err(silence.clone()), self.effects);
        }
    }

    fn due_waiters(&mut self) {
        let outage = self.outage();
        let first = self.state.first_deadline;
        if outage.is_none() && first.is_none_or(|first| first > self.now) {
            return;
        }
        let store_timeout = self.env.client.store_timeout;
        // A waiter whose `block` is over gets at least `brief` from its request on, so that the store can answer.
        // `START` if the store is unreachable.
        let asked = match (&self.env.outage, self.state.unanswered()) {
            (None, Some((ticket, _))) => ticket.log.since,
            _ => Instant::START,
        };
        let mut first_deadline: Option<Instant> = None;
        for waiter in core::mem::take(&mut self.state.waiters) {
            let ends = match &outage {
                // Not a timeout, because no answer has named a holder. Even a short `block` leaves the store a moment
                // to answer.
                Some((since, _)) => {
                    let brief = waiter.call().started.max(asked).after(self.limits.brief);
                    let brief = waiter.call().deadline().max(brief);
                    let ends = brief.min(waiter.call().started.max(*since).after(store_timeout));
                    ends.max(self.state.spared)
                }
                None => waiter.call().deadline(),
            };
            if ends <= self.now {
                let error = match &outage {
                    Some((_, error)) => Failure::Unavailable(error.clone()),
                    None => self.waited_long(&waiter),
                };
                self.fail(waiter, error);
                continue;
            }
            // The outage may end before the waiter fails. From then on only `block` counts.
            let look = ends.min(
                waiter
                    .call()
                    .deadline()
                    .max(self.now.after(self.limits.look_again)),
            );
            first_deadline = Some(first_deadline.map_or(look, |first| first.min(look)));
            self.state.waiters.push_back(waiter);
        }
        self.state.first_deadline = first_deadline;
    }

    /// If the store did not serve the last request, the error is no timeout: the holder from an earlier answer may be
    /// gone.
    fn waited_long(&self, waiter: &C) -> Failure {
        let mut waiting = self.state.waiting();
        let mut asked = waiting.clone();
        let asked = asked.find(|(_, waiting)| waiting.share == waiter.want().share);
        match asked.and_then(|(ticket, _)| ticket.trouble.clone()) {
            Some(source) => Failure::Unavailable(source),
            None => {
                let holder = waiting.find_map(|(_, waiting)| waiting.holder.clone());
                self.gave_up(waiter, holder)
            }
        }
    }

    /// If the store grants nothing and no holder is known, the error is `Unavailable`.
    pub(super) fn gave_up(&self, waiter: &C, holder: Option<HolderRecord>) -> Failure {
        match self.env.closed.filter(|_| holder.is_none()) {
            Some(closed) => Failure::Unavailable(closed.error(self.now)),
            None => Failure::Timeout {
                waited: waiter.call().waited(self.now),
                holder,
            },
        }
    }

    /// When the store stopped answering, and the cause; `None` if no answer is missing.
    fn outage(&self) -> Option<(Instant, StoreError)> {
        let since = self.state.silent_since(self.env)?;
        let unanswered = self.state.unanswered();
        let trouble = unanswered.and_then(|(ticket, _)| ticket.trouble.as_ref());
        Some((since, self.silence(trouble)))
    }

    /// `trouble` is the store's earlier error for the same request.
    pub(super) fn silence(&self, trouble: Option<&StoreError>) -> StoreError {
        match (&self.env.outage, trouble) {
            (Some((_, outage)), _) => outage.clone(),
            (None, Some(trouble)) => trouble.clone(),
            (None, None) => StoreError::disconnected("the store did not answer in time"),
        }
    }
}
