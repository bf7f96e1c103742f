//! Delivers grants to their waiters. A lease can later pass to the next waiter of this process without a request to the
//! store: the local handoff. A budget limits handoffs, so that other processes get their turn.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Step;
use super::call::Caller;
use super::hold::{Grant, Hold, Via};
use super::input::Effect;
use super::retain::Retention;
use super::ticket::{Granted, Held, TicketState, Waiting};
use crate::{
    Instant, Limits, Share, StoreError, StoreErrorKind, TOKENS_END, TOKENS_OF_A_GRANT, Ticket,
};

/// A waiter fails after this many grants that had ended before they arrived.
const STALE: u32 = 5;

impl<C: Caller> Step<'_, '_, C> {
    /// Handles a grant, which arrives as a reply, or as a message during another client's operation. Delivers it to the
    /// ticket's waiter, or to the first other waiter that the ticket may serve.
    #[inline]
    pub(super) fn granted(&mut self, index: usize, granted: &Granted) {
        let closed = self.env.closed;
        let closed = closed.is_some_and(|closed| self.now < closed.until);
        let ticket = &mut self.state.tickets[index];
        let attempt = ticket.attempting().map(|attempt| attempt.number);
        let waiting = ticket.waiting();
        let plausible = waiting.is_some_and(|waiting| is_plausible(waiting, granted, self.limits));
        let too_late = self.now >= granted.valid;
        if granted.provisional && (too_late || closed || !plausible) {
            // Either it cannot be proved valid any more, or a correct store would not send it now. A touch will find
            // out.
            ticket.again = Instant::NEVER;
            let op = ticket.touch_waiting(self.now, self.env.client.lease);
            return self.submit(op);
        }
        ticket.log.executed(granted.counter);
        if too_late {
            return self.granted_too_late(index);
        }
        let attempts = attempt.unwrap_or(ticket.log.count());
        if ticket.is_queued() {
            self.note_contention();
        }
        match self.take_waiter_of(index) {
            Some(waiter) => self.deliver(index, waiter, granted, attempts),
            None => self.withdraw(index),
        }
    }

    /// When to claim a grant, or renew a short lease: before the client's common renewal.
    fn claim_at(&self, valid: Instant) -> Instant {
        let within = self.limits.claim_within.min(self.now.until(valid) / 4);
        self.now.after(within)
    }

    #[inline]
    fn deliver(&mut self, index: usize, waiter: C, granted: &Granted, attempts: u32) {
        let retains = granted.retains && self.may_retain(&waiter);
        let (tenure, before) = (waiter.want().tenure, waiter.want().attempts);
        let ticket = &self.state.tickets[index];
        let holder = ticket.waiting().and_then(|it| it.holder.as_ref());
        let lasts = |expire| expire <= granted.lease;
        let grant = Grant {
            ticket: ticket.log.id,
            token: granted.token.saturating_mul(TOKENS_OF_A_GRANT),
            valid: granted.valid,
            whole: !granted.provisional && tenure.expire.is_some_and(lasts),
            attempts: before.saturating_add(attempts),
            via: Via::Store,
            signal: granted.signal.clone(),
            behind: holder.map(|holder| holder.meta.clone()),
        };
        let (hold, index) = self.give(index, waiter, grant);
        let (claim, client) = (self.claim_at(granted.valid), self.env.client);
        let renewal = client.renewal_after(self.now);
        let retention = retains.then(|| Retention::new(hold.token, renewal));
        let ticket = &mut self.state.tickets[index];
        // The ticket may have been requested for an earlier waiter with a shorter lease.
        let cut = ticket.lease < client.lease_of(tenure.expire);
        ticket.again = match granted.provisional || cut {
            true => claim,
            false => renewal,
        };
        ticket.state = TicketState::Held(Held {
            hold,
            granted: granted.counter,
            since: self.now,
            base: granted.token,
            leased: self.now.after(ticket.lease),
            handed: 0,
            forced: false,
            retention,
        });
    }

    /// Also returns the index of the ticket, which may have changed.
    #[inline]
    fn give(&mut self, index: usize, waiter: C, grant: Grant) -> (Hold<C>, usize) {
        let (caller, ticket) = (waiter.clone(), grant.ticket);
        let hold = Hold::new(waiter, &grant, self.now);
        let beside = match caller.want().owner.clone() {
            Some(owner) => self.calls_of(&owner, ticket),
            None => Vec::new(),
        };
        let index = match beside.is_empty() {
            true => index,
            false => self.state.find(ticket).unwrap_or(index),
        };
        self.effects.push(Effect::Granted {
            caller,
            grant,
            beside,
        });
        (hold, index)
    }

    /// Takes all other waiting calls of the owner, which share the hold of `ticket`.
    fn calls_of(&mut self, owner: &Arc<str>, ticket: Ticket) -> Vec<C> {
        let same = |waiter: &C| waiter.want().owner.as_ref() == Some(owner);
        let mut calls = Vec::new();
        self.state.waiters.retain(|waiter| {
            let is_same = same(waiter);
            calls.extend(is_same.then(|| waiter.clone()));
            !is_same
        });
        // Keep the attempt that was granted.
        calls
            .extend(self.withdraw_attempts(|other, waiter| other.log.id != ticket && same(waiter)));
        calls
    }

    /// An attempt fails at once. A waiter asks for a few more grants.
    fn granted_too_late(&mut self, index: usize) {
        if let Some(waiting) = self.state.tickets[index].waiting_mut() {
            waiting.queued = true;
            waiting.stale += 1;
            if waiting.stale < STALE {
                return self.send(index);
            }
        }
        let message = "the store took longer to answer than the lease lasts: use a longer `expire`";
        let error = StoreError::new(StoreErrorKind::TooLate, message);
        self.fail_ticket(index, super::Failure::Unavailable(error));
    }

    /// Passes the ticket, whose hold has just ended, to the first waiter. Returns `false` if the budget or the waiter's
    /// request rules that out.
    #[inline]
    pub(super) fn local_handoff(&mut self, index: usize) -> bool {
        let ticket = &self.state.tickets[index];
        let TicketState::Held(held) = &ticket.state else {
            return false;
        };
        let (attempts, number, before) = (ticket.log.count(), held.handed + 1, &held.hold);
        let Some(token) = held.token_after(before.token, self.limits) else {
            return false;
        };
        if !self.may_hand_on(held) {
            return false;
        }
        let (id, valid, tenure) = (ticket.log.id, before.valid(), before.caller.want().tenure);
        let (share, behind) = (
            before.caller.want().share,
            before.caller.want().meta.clone(),
        );
        let Some(waiter) = self.take_next_of(&share) else {
            return false;
        };
        let next = waiter.want().tenure;
        let grant = Grant {
            ticket: id,
            token,
            valid,
            whole: false,
            attempts: waiter.want().attempts.saturating_add(attempts),
            via: Via::Handoff,
            signal: None,
            behind: Some(behind),
        };
        let (hold, index) = self.give(index, waiter, grant);
        self.effects.push(Effect::HandedOn {
            hold: hold.caller.id(),
        });
        // The previous holder's `expire` may have cut the lease shorter than this waiter needs.
        let client = self.env.client;
        let cut = client.lease_of(tenure.expire) < client.lease_of(next.expire);
        let claim = self.claim_at(valid);
        let ticket = &mut self.state.tickets[index];
        if cut {
            ticket.again = ticket.again.min(claim);
        }
        if let TicketState::Held(held) = &mut ticket.state {
            held.hold = hold;
            held.handed = number;
        }
        true
    }

    fn may_hand_on(&self, held: &Held<C>) -> bool {
        let ((times, time), before) = (self.env.client.handoff, &held.hold);
        held.handed < times
            && self.now < held.since.after(time)
            && self.now.after(self.limits.least_left) < before.valid()
            && !before.is_signal
            && before.given_back().is_none()
    }

    /// If the earlier holder had only some of the units, the store may have granted other units, or a signal, with a
    /// greater token. A waiter for another kind of lock must ask the store, which refuses it.
    fn take_next_of(&mut self, had: &Share) -> Option<C> {
        let waiters = &mut self.state.waiters;
        let share = waiters.front()?.want().share;
        (share == *had && share.excludes_all()).then(|| waiters.pop_front())?
    }

    /// A spare ticket has no waiter: it keeps this process's place in the store's queue while handoffs serve the local
    /// waiters. It is kept only if this process holds all units (else it could block a waiter that could be served),
    /// for no signal (which would reach its receiver late), for no request that can be granted beside others, and while
    /// new waiters may come.
    pub(super) fn keeps_spare(&self) -> bool {
        let is_whole = |hold: &Hold<C>| hold.weight() == hold.caller.want().share.capacity;
        let mut waiting = self.state.waiting();
        let only = (waiting.next(), waiting.next());
        matches!(only, (Some((_, spare)), None) if spare.share.excludes_all())
            && self.state.holds().any(is_whole)
            && self.env.client.handoff.0 > 0
            && self.env.view.is_open
    }

    /// Call this before the last release is sent. Otherwise the store would grant the spare ticket.
    pub(super) fn withdraw_spare(&mut self) {
        if self.state.waiters.is_empty() && self.state.holds().next().is_none() {
            self.withdraw_waiting();
        }
    }

    pub(super) fn withdraw_waiting(&mut self) {
        for index in 0..self.state.tickets.len() {
            if self.state.tickets[index].waiting().is_some() {
                self.withdraw(index);
            }
        }
    }
}

fn is_plausible(waiting: &Waiting, granted: &Granted, limits: &Limits) -> bool {
    let last = waiting.holder.as_ref().map_or(0, |holder| holder.token);
    granted.lease <= limits.claim && (last + 1..TOKENS_END).contains(&granted.token)
}
