//! Local handoff: passes a lease to the next waiter of this process without a request to the store.
//!
//! A budget limits the number and the total time of handoffs, counted from the store's grant. When the budget is used
//! up, the ticket is released, so that the store can serve other processes. Each handoff makes a new hold with its own
//! fencing token and `expire`, on the same ticket and lease.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Grant, Hold, Rare};
use super::lock_queue::Transition;
use super::ticket::{Held, Ticket};
use super::waiter::Waiter;
use crate::observe::{Metric, spans_are_on};
use crate::store::limits::TOKENS_OF_A_GRANT;

/// A lease with less time left than this is not handed on.
const SHORTEST: Duration = Duration::from_millis(50);

impl Transition<'_> {
    /// Hands the ticket at `index`, whose hold `before` has just ended, to the first waiter. Returns `false` if the
    /// budget does not allow that, or if the waiter's request differs.
    pub(super) fn local_handoff(&mut self, index: usize, before: &Arc<Hold>) -> bool {
        let ticket = &self.state.tickets[index];
        let Some(held) = ticket.held() else {
            return false;
        };
        let (id, attempts, number) = (ticket.id(), ticket.log.count(), held.handed + 1);
        if !self.may_hand_on(held, before) {
            return false;
        }
        while let Some(waiter) = self.take_next_of(before) {
            let hold = self.next_hold(before, &waiter, number, attempts);
            self.share_with_owner(&hold);
            if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
                continue;
            }
            self.count(Metric::Handoff, hold.grant().labels());
            // The previous holder's `expire` may have made the lease shorter than this waiter needs.
            let lease_of = |terms| self.queue.lease_of(terms);
            let cut = lease_of(before.terms()) < lease_of(waiter.want.terms);
            let claim = self.claim_at(before.valid());
            if let Some(index) = self.state.find(id) {
                let ticket = &mut self.state.tickets[index];
                if cut {
                    ticket.again = ticket.again.min(claim);
                }
                if let Some(held) = ticket.held_mut() {
                    held.hold = hold;
                    held.warned.forget();
                    held.handed = number;
                    held.bounds.clear();
                }
            }
            return true;
        }
        false
    }

    /// Whether the budget and the lease allow another handoff.
    fn may_hand_on(&self, held: &Held, before: &Hold) -> bool {
        let limit = self.queue.member().settings().handoff;
        held.handed < limit.times
            && self.now < held.since.after(limit.time)
            && self.now.after(SHORTEST) < before.valid()
            && before.grant().signal().is_none()
            && before.given_back().is_none()
            && !held.owned
    }

    /// Removes the first waiter and returns it, if `before` has all units of the name and the waiter requests the same. If
    /// `before` had fewer units, the store could meanwhile have granted other units, or a signal, with a greater token. A
    /// waiter that requests another kind of lock must ask the store, which refuses it.
    fn take_next_of(&mut self, before: &Hold) -> Option<Arc<Waiter>> {
        let (grant, waiters) = (before.grant(), &mut self.state.waiters);
        let share = &waiters.front()?.want.share;
        let same = (share.units, share.capacity, share.takes)
            == (grant.units, grant.capacity, grant.takes);
        (same && share.excludes_all()).then(|| waiters.pop_front())?
    }

    /// The hold that handoff `number` of a ticket gives to `waiter`. `before`: the hold that has just ended.
    fn next_hold(&self, before: &Hold, waiter: &Waiter, number: u32, attempts: u32) -> Arc<Hold> {
        let (grant, want) = (before.grant(), &waiter.want);
        let behind = spans_are_on().then_some(&grant.meta);
        let next = Grant {
            ticket: grant.ticket,
            token: grant.token - grant.token % TOKENS_OF_A_GRANT + u64::from(number),
            units: grant.units,
            capacity: grant.capacity,
            takes: grant.takes,
            valid: before.valid(),
            whole: false,
            waited: waiter.waited(self.now),
            attempts: want.past.attempts.saturating_add(attempts),
            meta: want.meta.clone(),
            label: want.label,
            local: true,
            home: want.by.home,
            rare: Rare::of(None, want.owner.as_ref(), behind),
        };
        Hold::new(self.queue.clone(), next, want.terms, self.now)
    }

    /// Whether a spare ticket may wait in the store: a ticket without a waiter, while this process holds the name. New
    /// waiters here are served by handoffs, and the spare ticket keeps this process's place in the store's queue.
    ///
    /// There is no spare ticket in four cases:
    /// - This process holds only a part of the units. The spare ticket would block a waiter of another process for
    ///   which enough units are free.
    /// - The ticket waits for a signal. A signal that is granted to a spare ticket would reach its receiver late.
    /// - The request can be granted beside others: see [`Ticket::may_serve`].
    /// - The client drains, so no new waiters come.
    pub(super) fn keeps_spare(&self) -> bool {
        let whole = |held: &Held| held.hold.weight() == held.hold.grant().capacity;
        let mut waiting = self.state.tickets.iter().filter_map(Ticket::waiting);
        let only = (waiting.next(), waiting.next());
        matches!(only, (Some(spare), None) if spare.share.excludes_all())
            && self
                .state
                .tickets
                .iter()
                .filter_map(Ticket::held)
                .any(whole)
            && self.queue.member().settings().handoff.times > 0
            && self.queue.member().is_open()
    }

    /// Withdraws the spare ticket if neither a waiter nor a hold is left here. Called before the last release is sent;
    /// otherwise the store would grant the spare ticket.
    pub(super) fn withdraw_spare(&mut self) {
        let tickets = &self.state.tickets;
        if self.state.waiters.is_empty() && !tickets.iter().any(|ticket| ticket.held().is_some()) {
            for index in 0..self.state.tickets.len() {
                if self.state.tickets[index].waiting().is_some() {
                    self.withdraw(index);
                }
            }
        }
    }
}
