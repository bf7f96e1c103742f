//! A grant arrives, as an answer or as a message, and is delivered to its waiter. Later its lease may be passed to the next
//! waiter of this process without a request to the store: the local handoff.
//!
//! A budget limits the number and the total time of handoffs, counted from the store's grant. When the budget is used
//! up, the ticket is released, so that the store can serve other processes. Each handoff makes a new hold with its own
//! fencing token and `expire`, on the same ticket and lease.

use std::sync::Arc;
use std::time::Duration;

use super::hold::Hold;
use super::lock_queue::Transition;
use super::ticket::{Granted, Held, Ticket, TicketState, Waiting};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::error::{HoldKind, LockKind};
use crate::observe::{LockLabels, spans_are_on};
use crate::observer::Metric;
use crate::store::limits::{CLAIM_MS, TOKENS_END, TOKENS_OF_A_GRANT};
use crate::store::{Owner, SharedStr, Ticket as TicketId};
use crate::task::Home;

/// The delay before this process claims a grant that came as a message. Most bodies end sooner, and then only the
/// release is sent. The store waits two seconds for the claim.
const CLAIM_WITHIN: Duration = Duration::from_millis(20);

/// The longest lease that a message may grant.
const CLAIM: Duration = Duration::from_millis(CLAIM_MS);

/// A lease with less time left than this is not handed on.
const SHORTEST: Duration = Duration::from_millis(50);

/// A waiter fails after this many answers with a grant that had already ended when the answer arrived.
const STALE: u32 = 5;

/// The content of a grant, and how it was obtained.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) ticket: TicketId,
    /// The store's time in microseconds × [`TOKENS_OF_A_GRANT`](crate::store::limits::TOKENS_OF_A_GRANT), plus the
    /// number of the local handoff.
    pub(crate) token: u64,
    /// The kind of the lock.
    pub(crate) lock: LockKind,
    /// The units of the grant. The holder may have given some of them back.
    pub(crate) units: u32,
    /// The capacity of the name.
    pub(crate) capacity: u32,
    pub(crate) valid: Instant,
    /// The requested lease lasts until the end of `expire`, so it needs no renewal.
    pub(crate) whole: bool,
    pub(crate) waited: Duration,
    pub(crate) attempts: u32,
    /// The requester, encoded for the store.
    pub(crate) meta: SharedStr,
    /// The site label of the metrics.
    pub(crate) label: &'static str,
    /// The grant needed no request to the store.
    pub(crate) local: bool,
    /// What the holder's task needs in order to run on.
    pub(crate) home: Option<Home>,
    /// The parts that few grants have. Boxed, because each grant is copied.
    pub(crate) rare: Option<Box<Rare>>,
}

/// The parts of a grant that few grants have.
#[derive(Clone, Debug)]
pub(crate) struct Rare {
    signal: Option<Arc<str>>,
    owner: Option<Owner>,
    behind: Option<SharedStr>,
}

impl Rare {
    /// Makes the rare parts of a grant; `None` if the grant has none of them.
    #[inline]
    pub(crate) fn of(
        signal: Option<&Arc<str>>,
        owner: Option<&Owner>,
        behind: Option<&SharedStr>,
    ) -> Option<Box<Self>> {
        if signal.is_none() && owner.is_none() && behind.is_none() {
            return None;
        }
        Some(Box::new(Self {
            signal: signal.cloned(),
            owner: owner.cloned(),
            behind: behind.cloned(),
        }))
    }
}

impl Grant {
    /// The signal that was granted instead of a unit.
    pub(crate) fn signal(&self) -> Option<&Arc<str>> {
        self.rare.as_ref()?.signal.as_ref()
    }

    /// The owner that the caller named, if any.
    pub(crate) fn owner(&self) -> Option<&Owner> {
        self.rare.as_ref()?.owner.as_ref()
    }

    /// The holder that the caller waited for, encoded like `meta`. `None` if this holder is not known here, or spans
    /// are off.
    pub(crate) fn behind(&self) -> Option<&SharedStr> {
        self.rare.as_ref()?.behind.as_ref()
    }

    pub(crate) fn kind(&self) -> HoldKind {
        HoldKind::of(self.lock, self.units)
    }

    pub(crate) fn labels(&self) -> LockLabels {
        LockLabels::new(self.label, self.kind())
    }
}

impl Transition<'_> {
    /// Delivers the store's grant of the waiting ticket at `index` to the ticket's waiter, or to the first waiter that
    /// the ticket may serve. If there is no such waiter, withdraws the ticket.
    pub(super) fn granted(&mut self, index: usize, granted: &Granted) {
        let ticket = &mut self.state.tickets[index];
        let (id, attempts) = (ticket.id(), ticket.log.count());
        while let Some(index) = self.state.find(id)
            && let Some(waiter) = self.take_waiter_of(index)
        {
            if self.deliver(id, &waiter, granted, attempts) {
                return;
            }
        }
        self.withdraw_by_id(id);
    }

    /// When to send the first touch of a new hold that cannot wait for the common renewal: a claim, or the renewal of a
    /// short lease. `valid` is the end of the grant.
    pub(super) fn claim_at(&self, valid: Instant) -> Instant {
        self.now.after(CLAIM_WITHIN.min(self.now.until(valid) / 4))
    }

    /// Delivers the grant of ticket `id` to `waiter`. Returns `false` if the waiter has left.
    pub(super) fn deliver(
        &mut self,
        id: TicketId,
        waiter: &Arc<Waiter>,
        granted: &Granted,
        attempts: u32,
    ) -> bool {
        let want = &waiter.want;
        let ticket = self.state.find(id).map(|index| &self.state.tickets[index]);
        let holder = ticket.and_then(|ticket| ticket.waiting()?.holder.as_ref());
        let behind = holder.filter(|_| spans_are_on()).map(|holder| &holder.meta);
        let lasts = |expire| expire <= granted.lease;
        let grant = Grant {
            ticket: id,
            token: granted.token.saturating_mul(TOKENS_OF_A_GRANT),
            lock: want.share.kind,
            units: want.share.units,
            capacity: want.share.capacity,
            valid: granted.valid,
            whole: !granted.provisional && want.terms.expire.is_some_and(lasts),
            waited: waiter.waited(self.now),
            attempts: want.past.attempts.saturating_add(attempts),
            meta: want.meta.clone(),
            label: want.label,
            local: false,
            home: want.by.home,
            rare: Rare::of(granted.signal.as_ref(), want.owner.as_ref(), behind),
        };
        let hold = Hold::new(self.queue.clone(), grant, want.terms, self.now);
        self.share_with_owner(&hold);
        if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
            return false;
        }
        let (claim, renew) = (self.claim_at(granted.valid), self.next_renewal());
        let wanted = self.queue.lease_of(want.terms);
        if let Some(index) = self.state.find(id) {
            let ticket = &mut self.state.tickets[index];
            // The ticket may have been requested for an earlier waiter, with a shorter lease.
            let cut = ticket.lease < wanted;
            ticket.again = if granted.provisional || cut {
                claim
            } else {
                renew
            };
            ticket.state = TicketState::Held(Held {
                owned: !want.share.owner.is_empty(),
                ..Held::new(hold, granted.counter, ticket.lease, self.now)
            });
        }
        true
    }

    /// Handles a message: during another client's operation, the store has granted the waiting ticket at `index`.
    pub(super) fn told_grant(&mut self, index: usize, granted: &Granted) {
        let closing = self.closing();
        let closed = closing.is_some_and(|closing| self.now < closing.until);
        let ticket = &mut self.state.tickets[index];
        let plausible = ticket
            .waiting()
            .is_some_and(|waiting| is_plausible(waiting, granted));
        if self.now >= granted.valid || closed || !plausible {
            // The grant came too late to be proved valid, or a correct store would not send it now. So a touch asks the
            // store.
            ticket.again = Instant::NEVER;
            let op = ticket.touch_waiting(self.now, self.queue.lease());
            return self.submit(op);
        }
        ticket.log.executed(granted.counter);
        self.granted(index, granted);
    }

    /// Handles a grant that cannot be proved valid, because its answer took as long as the lease.
    pub(super) fn granted_too_late(&mut self, index: usize) {
        let ticket = &mut self.state.tickets[index];
        let Some(waiting) = ticket.waiting_mut() else {
            return;
        };
        waiting.queued = true;
        waiting.stale += 1;
        if waiting.stale >= STALE {
            self.refuse(index, self.too_slow());
            self.withdraw(index);
        } else {
            self.send(index);
        }
    }

    /// Delivers `hold` to all waiters of the same owner here. The caller must have a guard of its own. Otherwise the
    /// last guard could be dropped before all waiters are served.
    pub(super) fn share_with_owner(&mut self, hold: &Arc<Hold>) {
        let Some(owner) = hold.grant().owner() else {
            return;
        };
        let same = |waiter: &Arc<Waiter>| waiter.want.owner.as_ref() == Some(owner);
        let mut others: Vec<_> = Vec::new();
        self.state.waiters.retain(|waiter| {
            let same = same(waiter);
            others.extend(same.then(|| waiter.clone()));
            !same
        });
        let mut index = 0;
        while let Some(ticket) = self.state.tickets.get(index) {
            // The attempt whose grant is `hold` stays.
            let other = ticket.id() != hold.grant().ticket;
            let attempt = ticket.attempting().filter(|_| other);
            match attempt.filter(|attempt| same(&attempt.waiter)) {
                Some(attempt) => {
                    others.push(attempt.waiter.clone());
                    self.withdraw(index);
                }
                None => index += 1,
            }
        }
        for waiter in others {
            if hold.share() && !waiter.obtain(hold.clone(), self.wakes) {
                hold.unshare();
            }
        }
    }

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
        let same =
            (share.kind, share.units, share.capacity) == (grant.lock, grant.units, grant.capacity);
        (same && share.excludes_all()).then(|| waiters.pop_front())?
    }

    /// The hold that handoff `number` of a ticket gives to `waiter`. `before`: the hold that has just ended.
    fn next_hold(&self, before: &Hold, waiter: &Waiter, number: u32, attempts: u32) -> Arc<Hold> {
        let (grant, want) = (before.grant(), &waiter.want);
        let behind = spans_are_on().then_some(&grant.meta);
        let next = Grant {
            ticket: grant.ticket,
            token: grant.token - grant.token % TOKENS_OF_A_GRANT + u64::from(number),
            lock: grant.lock,
            units: grant.units,
            capacity: grant.capacity,
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

/// Whether a store that follows the protocol could send the grant to a `waiting` ticket.
fn is_plausible(waiting: &Waiting, granted: &Granted) -> bool {
    let token = granted.token;
    let last = waiting.holder.as_ref().map_or(0, |holder| holder.token);
    // If the owner of the ticket already holds the name, the grant has the token of that hold.
    let later = token > last || token == last && !waiting.share.owner.is_empty();
    granted.lease <= CLAIM && later && token < TOKENS_END
}
