//! Delivers grants to their waiters. A lease can later pass to the next waiter of this process without a request to the
//! store: the local handoff. A budget limits handoffs, so that other processes get their turn.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hold::Hold;
use super::lock_queue::Transition;
use super::retain::Retention;
use super::ticket::{Granted, Held, TicketState, Waiting};
use super::waiter::Waiter;
use crate::base::clock::Instant;
use crate::base::error::{StoreError, StoreErrorKind};
use crate::observe::spans_are_on;
use crate::observer::Metric;
use crate::store::{Limits, TOKENS_END, TOKENS_OF_A_GRANT};
use crate::store::{SharedStr, Ticket as TicketId};

/// A waiter fails after this many grants that had ended before they arrived.
const STALE: u32 = 5;

/// What a grant came from. Only the first needs a request, and it counts for a call that gets several grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Via {
    Store,
    /// The local handoff.
    Handoff,
    /// The client kept the lock after an earlier call.
    Kept,
}

impl Via {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Handoff => "local",
            Self::Kept => "kept",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) ticket: TicketId,
    /// The store's time in microseconds × `TOKENS_OF_A_GRANT`, plus the number of the local handoff.
    pub(crate) token: u64,
    pub(crate) valid: Instant,
    /// The lease lasts until the end of `expire`, so it is never renewed.
    pub(crate) whole: bool,
    pub(crate) attempts: u32,
    pub(crate) via: Via,
    pub(crate) signal: Option<Arc<str>>,
    /// The holder that the caller waited for, encoded like `meta`; `None` if unknown, or if spans are off.
    pub(crate) behind: Option<SharedStr>,
}

impl Transition<'_> {
    /// Handles a grant, which arrives as a reply, or as a message during another client's operation. Delivers it to the
    /// ticket's waiter, or to the first other waiter that the ticket may serve.
    pub(super) fn granted(&mut self, index: usize, granted: &Granted) {
        let closed = self.closed();
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
            let op = ticket.touch_waiting(self.now, self.queue.lease());
            return self.submit(op);
        }
        ticket.log.executed(granted.counter);
        if too_late {
            return self.granted_too_late(index);
        }
        let (id, attempts) = (ticket.log.id, attempt.unwrap_or(ticket.log.count()));
        if ticket.is_queued() {
            self.note_contention();
        }
        while let Some(index) = self.state.find(id)
            && let Some(waiter) = self.take_waiter_of(index)
        {
            if self.deliver(index, &waiter, granted, attempts) {
                return;
            }
            if attempt.is_some() {
                break;
            }
        }
        if let Some(index) = self.state.find(id) {
            self.withdraw(index);
        }
    }

    /// When to claim a grant, or renew a short lease: before the client's common renewal.
    fn claim_at(&self, valid: Instant) -> Instant {
        self.now
            .after(self.limits.claim_within.min(self.now.until(valid) / 4))
    }

    fn deliver(
        &mut self,
        index: usize,
        waiter: &Arc<Waiter>,
        granted: &Granted,
        attempts: u32,
    ) -> bool {
        let want = &waiter.want;
        let ticket = &self.state.tickets[index];
        let holder = ticket.waiting().and_then(|it| it.holder.as_ref());
        let behind = holder.filter(|_| spans_are_on());
        let lasts = |expire| expire <= granted.lease;
        let grant = Grant {
            ticket: ticket.log.id,
            token: granted.token.saturating_mul(TOKENS_OF_A_GRANT),
            valid: granted.valid,
            whole: !granted.provisional && want.terms.expire.is_some_and(lasts),
            attempts: want.attempts.saturating_add(attempts),
            via: Via::Store,
            signal: granted.signal.clone(),
            behind: behind.map(|holder| holder.meta.clone()),
        };
        let Some((hold, index)) = self.give(waiter, grant) else {
            return false;
        };
        let claim = self.claim_at(granted.valid);
        let retains = granted.retains && self.may_retain(want);
        let ticket = &mut self.state.tickets[index];
        // The ticket may have been requested for an earlier waiter with a shorter lease.
        let cut = ticket.lease < self.queue.lease_of(want.terms);
        ticket.again = match granted.provisional || cut {
            true => claim,
            false => self.queue.next_renewal_after(self.now),
        };
        let renewal = self.queue.next_renewal_after(self.now);
        let retention = retains.then(|| Retention::new(hold.grant.token, renewal));
        ticket.state = TicketState::Held(Held {
            hold,
            granted: granted.counter,
            since: self.now,
            base: granted.token,
            leased: self.now.after(ticket.lease),
            handed: 0,
            forced: false,
            bounds: Vec::new(),
            retention,
        });
        true
    }

    /// Also returns the index of the ticket, which may have changed. `None` if the waiter has left.
    #[inline(always)]
    fn give(&mut self, waiter: &Arc<Waiter>, grant: Grant) -> Option<(Arc<Hold>, usize)> {
        let hold = Arc::new(Hold::new(
            self.queue.clone(),
            waiter.clone(),
            grant,
            self.now,
        ));
        self.share_with_owner(&hold);
        let has_left = !waiter.obtain(hold.clone(), self.wakes) && hold.remove_guard();
        let index = self.state.find(hold.grant.ticket)?;
        (!has_left).then_some((hold, index))
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
        self.fail_ticket(index, self.unavailable(error));
    }

    /// The caller must have its own guard. Otherwise the last guard could be dropped before all waiters are served.
    fn share_with_owner(&mut self, hold: &Arc<Hold>) {
        let Some(owner) = &hold.want().owner else {
            return;
        };
        let same = |waiter: &Waiter| waiter.want.owner.as_ref() == Some(owner);
        let waiters = std::mem::take(&mut self.state.waiters).into_iter();
        let (mut others, rest) = waiters.partition::<VecDeque<_>, _>(|waiter| same(waiter));
        self.state.waiters = rest;
        // Keep the attempt whose grant is `hold`.
        let attempts = self
            .withdraw_attempts(|ticket, waiter| ticket.log.id != hold.grant.ticket && same(waiter));
        others.extend(attempts);
        for waiter in others {
            if hold.add_guard() && !waiter.obtain(hold.clone(), self.wakes) {
                hold.remove_guard();
            }
        }
    }

    /// Passes the ticket, whose hold `before` has just ended, to the first waiter. Returns `false` if the budget or the
    /// waiter's request rules that out.
    pub(super) fn local_handoff(&mut self, index: usize, before: &Arc<Hold>) -> bool {
        let ticket = &self.state.tickets[index];
        let Some(held) = ticket.held() else {
            return false;
        };
        let (id, attempts, number) = (ticket.log.id, ticket.log.count(), held.handed + 1);
        let Some(token) = held.token_after(before.grant.token) else {
            return false;
        };
        if !self.may_hand_on(held, before) {
            return false;
        }
        while let Some(waiter) = self.take_next_of(before) {
            let grant = Grant {
                ticket: id,
                token,
                valid: before.valid(),
                whole: false,
                attempts: waiter.want.attempts.saturating_add(attempts),
                via: Via::Handoff,
                signal: None,
                behind: spans_are_on().then(|| before.want().meta.clone()),
            };
            let Some((hold, index)) = self.give(&waiter, grant) else {
                continue;
            };
            self.count(Metric::Handoff, hold.labels());
            // The previous holder's `expire` may have cut the lease shorter than this waiter needs.
            let lease_of = |terms| self.queue.lease_of(terms);
            let cut = lease_of(before.want().terms) < lease_of(waiter.want.terms);
            let claim = self.claim_at(before.valid());
            let ticket = &mut self.state.tickets[index];
            if cut {
                ticket.again = ticket.again.min(claim);
            }
            if let Some(held) = ticket.held_mut() {
                held.hold = hold;
                held.handed = number;
                held.bounds.clear();
            }
            return true;
        }
        false
    }

    fn may_hand_on(&self, held: &Held, before: &Hold) -> bool {
        let (times, time) = self.queue.core.settings().handoff;
        held.handed < times
            && self.now < held.since.after(time)
            && self.now.after(self.limits.least_left) < before.valid()
            && before.grant.signal.is_none()
            && before.given_back().is_none()
    }

    /// If `before` had only some of the units, the store may have granted other units, or a signal, with a greater
    /// token. A waiter for another kind of lock must ask the store, which refuses it.
    fn take_next_of(&mut self, before: &Hold) -> Option<Arc<Waiter>> {
        let (had, waiters) = (&before.want().share, &mut self.state.waiters);
        let share = &waiters.front()?.want.share;
        let same = (share.kind, share.units, share.capacity) == (had.kind, had.units, had.capacity);
        (same && share.excludes_all()).then(|| waiters.pop_front())?
    }

    /// A spare ticket has no waiter: it keeps this process's place in the store's queue while handoffs serve the local
    /// waiters. It is kept only if this process holds all units (else it could block a waiter that could be served),
    /// for no signal (which would reach its receiver late), for no request that can be granted beside others, and while
    /// new waiters may come.
    pub(super) fn keeps_spare(&self) -> bool {
        let is_whole = |hold: &Arc<Hold>| hold.weight() == hold.want().share.capacity;
        let mut waiting = self.waiting();
        let only = (waiting.next(), waiting.next());
        matches!(only, (Some((_, spare)), None) if spare.share.excludes_all())
            && self.holds().any(is_whole)
            && self.queue.core.settings().handoff.0 > 0
            && self.queue.core.is_open()
    }

    /// Call this before the last release is sent. Otherwise the store would grant the spare ticket.
    pub(super) fn withdraw_spare(&mut self) {
        if self.state.waiters.is_empty() && self.holds().next().is_none() {
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
