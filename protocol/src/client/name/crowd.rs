//! Calls that are refused because too many wait already: `max_waiters`.
//!
//! Those of this process are counted exactly. How many wait in others, the records of their tickets in the store say; a
//! question for them follows the answer that tells a call to wait, unless the last one was asked shortly before. Calls
//! that came since count as admitted once it is answered, if they fit even if the store grants to none that ask.

use super::call::{CallId, Caller};
use super::input::Failure;
use super::ticket::Ticket;
use super::{State, Step};
use crate::{Instant, NameRecord, Op, Reply, StoreError};

/// What is known of the calls of other processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Crowd {
    /// How many waited.
    pub(super) others: u64,
    /// When the store was last asked.
    pub(super) asked: Instant,
    /// When it last answered.
    pub(super) answered: Instant,
    /// The last call that was admitted by an answer.
    pub(super) admitted: CallId,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            others: 0,
            asked: Instant::START,
            answered: Instant::START,
            admitted: CallId(0),
        }
    }
}

impl<C: Caller> Step<'_, '_, C> {
    /// Whether the call is refused at once.
    pub(super) fn refuses(&mut self, caller: &C) -> bool {
        let Some(most) = caller.want().max_waiters else {
            return false;
        };
        if !caller.want().patience.waits() {
            return false;
        }
        let waiting = self.waiting_calls();
        let is_refused = waiting >= u64::from(most);
        if is_refused {
            let error = Failure::Busy { waiting };
            self.fail(caller.clone(), error);
        } else if self.is_known() && self.calls_without(0) < u64::from(most) {
            self.state.crowd.admitted = caller.id();
        }
        is_refused
    }

    /// A ticket waits: refuses the last calls of those that are too many, and asks how many wait elsewhere.
    pub(super) fn limit_waiters(&mut self) {
        let limited = |waiter: &C| waiter.want().max_waiters.is_some();
        if !self.state.waiters.iter().any(limited) {
            return;
        }
        while let Some(last) = self.state.waiters.back()
            && let Some(most) = last.want().max_waiters
            && last.id() > self.state.crowd.admitted
            && self.waiting_calls() > u64::from(most)
            && let Some(caller) = self.state.waiters.pop_back()
        {
            let waiting = self.waiting_calls();
            self.fail(caller, Failure::Busy { waiting });
        }
        self.tell_growth();
        if self.is_known() {
            let most = |last: &C| last.want().max_waiters.map_or(u64::MAX, u64::from);
            let last = self.state.waiters.back();
            let last = last.filter(|last| self.calls_without(0) <= most(last));
            let last = last.map(Caller::id);
            self.state.crowd.admitted = last.unwrap_or(self.state.crowd.admitted);
        } else if self.state.crowd.asked.after(self.limits.near_touch) <= self.now {
            self.state.crowd.asked = self.now;
            self.submit(Op::Inspect { above: 0 });
        }
    }

    /// Other processes learn of a crowd before the next touch.
    fn tell_growth(&mut self) {
        let waiting = self.state.tickets.iter().rposition(Ticket::is_queued);
        let Some(index) = waiting else {
            return;
        };
        let calls = self.state.calls_of(index);
        let ticket = &mut self.state.tickets[index];
        let told = ticket.waiting().map_or(calls, |waiting| waiting.told);
        if calls >= 2 * told && calls > 1 {
            ticket.again = self.now;
        }
    }

    /// The answer to the question of [`limit_waiters`](Self::limit_waiters). Without one, the next wait asks again.
    pub(super) fn answer_crowd(&mut self, result: Result<Reply, StoreError>) {
        if let Ok(Reply::Info(record)) = result {
            self.state.crowd.others = self.state.others_waiting(&record);
            self.state.crowd.answered = self.now;
            self.limit_waiters();
        }
    }

    fn is_known(&self) -> bool {
        let answered = self.state.crowd.answered;
        answered > Instant::START && self.now < answered.after(self.limits.near_touch)
    }

    /// How many calls wait, without those that the store has not told to wait yet: it may grant to them at once.
    fn waiting_calls(&self) -> u64 {
        let asking = self.state.waiting().filter(|(_, it)| !it.queued);
        let asking = asking.filter(|(_, it)| it.waiter.is_some()).count();
        self.calls_without(asking)
    }

    /// How many calls wait, but for `asking` of this process.
    fn calls_without(&self, asking: usize) -> u64 {
        let here = self.state.waiters.len() + self.state.polls().count();
        let others = if self.is_known() {
            self.state.crowd.others
        } else {
            0
        };
        here.saturating_sub(asking) as u64 + others
    }
}

impl<C: Caller> State<C> {
    /// How many calls a ticket stands for. The last ticket that waits stands for all that have none.
    #[inline]
    pub(super) fn calls_of(&self, index: usize) -> usize {
        let waits = |ticket: &Ticket<C>| ticket.waiting().is_some();
        if !waits(&self.tickets[index]) || self.tickets[index + 1..].iter().any(waits) {
            return 1;
        }
        let before = self.tickets[..index].iter().filter(|it| waits(it));
        self.waiters.len().saturating_sub(before.count()).max(1)
    }

    /// Calls that have found the lock held, and try again.
    fn polls(&self) -> impl Iterator<Item = &Ticket<C>> {
        let polls = |ticket: &&Ticket<C>| ticket.attempting().is_some_and(|it| it.number > 1);
        self.tickets.iter().filter(polls)
    }

    fn others_waiting(&self, record: &NameRecord) -> u64 {
        let others = record.waiters.iter();
        let others = others.filter(|waiter| self.find(waiter.ticket).is_none());
        others.map(|waiter| u64::from(waiter.calls())).sum()
    }
}
