//! The tickets that wait in the store for the first of the local waiters, and what becomes of one when it is granted.
//!
//! For a mutex that is one ticket: it waits for the first waiter, whoever that is by then. Waiters that could hold
//! together, readers for example, have one each.

use std::sync::Arc;
use std::time::Duration;

use super::local::Step;
use super::ticket::{Ask, Held, Sendings};
use super::waiter::{Waiter, Want};
use crate::clock::Instant;
use crate::lease::{Grant, Hold};
use crate::store::{Mode, Op, Ticket};

/// How long a grant by message may stay unclaimed by us: most bodies are over by then, and then
/// the release says it all. The store waits two seconds.
const CLAIM_WITHIN: Duration = Duration::from_millis(20);

/// What the store said when it granted.
pub(super) struct Granted {
    /// The fencing time.
    pub(super) token: u64,
    /// The last request of the ticket that the store had executed.
    pub(super) counter: u64,
    /// Until when it can be shown to be valid.
    pub(super) valid: Instant,
    /// By message, to be claimed.
    pub(super) provisional: bool,
    /// What was granted instead of a unit.
    pub(super) signal: Option<Arc<str>>,
}

/// How many tickets wait in the store at most for waiters that could hold together. Signals are not limited: who
/// waits for one must be known to whoever signals to all.
const TOGETHER: usize = 64;

impl Step<'_> {
    /// Sees to it that as many tickets wait in the store as waiters here could hold together, for what they want.
    pub(super) fn match_asks(&mut self) {
        let wanted = self.wanted();
        if self.matches(wanted) {
            return;
        }
        let first: Vec<_> = self.state.waiters.iter().take(wanted).cloned().collect();
        let mut spare: Vec<_> = std::mem::take(&mut self.state.asks);
        let mut missing = Vec::new();
        for waiter in first {
            match spare.iter().position(|ask| ask.share == waiter.want.share) {
                Some(index) => self.state.asks.push(spare.remove(index)),
                None => missing.push(waiter),
            }
        }
        for ask in spare {
            self.withdraw(&ask.sendings);
        }
        for waiter in missing {
            let mut ask = self.new_ask(&waiter.want);
            self.send_ask(&mut ask, &waiter.want);
            self.state.asks.push(ask);
        }
    }

    pub(super) fn new_ask(&self, want: &Want) -> Ask {
        Ask {
            sendings: Sendings::new(self.now),
            share: want.share.clone(),
            hold: self.lease_for(want),
            again: Instant::NEVER,
            queued: false,
            holder: None,
            stale: 0,
            trouble: None,
        }
    }

    /// How many of the first waiters have a ticket in the store.
    fn wanted(&self) -> usize {
        let Some(first) = self.state.waiters.front() else {
            return 0;
        };
        let capacity = first.want.share.capacity;
        let mut room = capacity;
        let fits = |waiter: &&Arc<Waiter>| {
            let share = &waiter.want.share;
            let left = room.checked_sub(share.units);
            room = left.unwrap_or(0);
            share.capacity == capacity && (capacity == 0 || left.is_some())
        };
        let limit = if capacity == 0 { usize::MAX } else { TOGETHER };
        // What asks for more than there is gets its answer all the same.
        let together = self.state.waiters.iter().take_while(fits).take(limit);
        together.count().max(1)
    }

    /// Whether the tickets that wait are those that the first `wanted` waiters need, in their order.
    fn matches(&self, wanted: usize) -> bool {
        let waiters = self.state.waiters.iter().take(wanted);
        if wanted == 0 && self.state.asks.len() == 1 && self.keeps_spare() {
            return true;
        }
        self.state.asks.len() == wanted
            && waiters
                .zip(&self.state.asks)
                .all(|(waiter, ask)| waiter.want.share == ask.share)
    }

    pub(super) fn find_ask(&self, ticket: Ticket) -> Option<usize> {
        let mut asks = self.state.asks.iter();
        asks.position(|ask| ask.sendings.ticket == ticket)
    }

    /// Asks again for those that `which` chooses.
    pub(super) fn ask_again(&mut self, which: impl Fn(&Ask) -> bool) {
        let mut asks = std::mem::take(&mut self.state.asks);
        for ask in asks.iter_mut().filter(|ask| which(ask)) {
            let mut waiters = self.state.waiters.iter();
            let first = waiters
                .find(|waiter| waiter.want.share == ask.share)
                .cloned();
            match first {
                Some(first) if !ask.queued => self.send_ask(ask, &first.want),
                _ => self.touch_ask(ask),
            }
        }
        self.state.asks = asks;
    }

    /// Waiters that the store is known to have in its queue may rely on that.
    pub(super) fn register(&mut self) {
        let waits_for_signals = |waiter: &Arc<Waiter>| waiter.want.share.capacity == 0;
        if !self.state.waiters.front().is_some_and(waits_for_signals) {
            return;
        }
        let queued = self.state.asks.iter().filter(|ask| ask.queued).count();
        for waiter in self.state.waiters.iter().take(queued) {
            waiter.registered.complete((), self.wakes).ok();
        }
    }

    /// Asks for the first time, or asks again: a copy does no harm.
    pub(super) fn send_ask(&mut self, ask: &mut Ask, first: &Want) {
        let op = Op::Acquire {
            ticket: ask.sendings.ticket,
            counter: ask.sendings.next(self.now),
            share: ask.share.clone(),
            hold: ask.hold,
            place: self.local.lease(),
            mode: Mode::Queue,
            meta: first.meta.clone(),
        };
        ask.again = Instant::NEVER;
        self.submit(op);
    }

    /// Touches the waiting ticket.
    pub(super) fn touch_ask(&mut self, ask: &mut Ask) {
        let op = Op::Touch {
            ticket: ask.sendings.ticket,
            counter: ask.sendings.next(self.now),
            units: 0,
            hold: ask.hold,
            place: self.local.lease(),
        };
        ask.again = Instant::NEVER;
        self.submit(op);
    }

    /// A waiting ticket was granted: the first waiter that still wants such a one gets it.
    pub(super) fn granted(&mut self, ask: Ask, granted: &Granted) {
        let Ask {
            mut sendings,
            share,
            hold: lease,
            ..
        } = ask;
        let wants = |waiter: &Arc<Waiter>| waiter.want.share == share;
        while let Some(index) = self.state.waiters.iter().position(wants) {
            let Some(waiter) = self.state.waiters.remove(index) else {
                break;
            };
            let attempts = sendings.count();
            match self.hand(&waiter, sendings, lease, granted, attempts) {
                Ok(()) => return,
                Err(unused) => sendings = unused,
            }
        }
        self.withdraw(&sendings);
    }

    /// When to claim what is `valid` for so long only.
    pub(super) fn claim_at(&self, valid: Instant) -> Instant {
        self.now.after(CLAIM_WITHIN.min(self.now.until(valid) / 4))
    }

    /// Gives a granted ticket to `waiter`; it comes back if the waiter has gone.
    pub(super) fn hand(
        &mut self,
        waiter: &Arc<Waiter>,
        sendings: Sendings,
        lease: Duration,
        granted: &Granted,
        attempts: u32,
    ) -> Result<(), Sendings> {
        let (want, waited) = (&waiter.want, waiter.started.until(self.now));
        let hold = self.new_hold(want, sendings.ticket, granted, waited, attempts);
        if !waiter.obtain(hold.clone(), self.wakes) {
            return Err(sendings);
        }
        self.keep(hold, want, sendings, lease, granted);
        Ok(())
    }

    /// What somebody who wanted `want` gets by a grant.
    pub(super) fn new_hold(
        &self,
        want: &Want,
        ticket: Ticket,
        granted: &Granted,
        waited: Duration,
        attempts: u32,
    ) -> Arc<Hold> {
        let grant = Grant {
            ticket,
            token: granted.token.saturating_mul(1024),
            units: want.share.units,
            capacity: want.share.capacity,
            signal: granted.signal.clone(),
            owner: want.owner.clone(),
            valid: granted.valid,
            waited,
            attempts,
            meta: want.meta.clone(),
            home: want.home,
        };
        Hold::new(self.local.clone(), grant, want.terms, self.now)
    }

    /// From now on `hold` is renewed.
    pub(super) fn keep(
        &mut self,
        hold: Arc<Hold>,
        want: &Want,
        sendings: Sendings,
        lease: Duration,
        granted: &Granted,
    ) {
        // It may have been asked for by one before, who wanted to hold for less long.
        let cut = lease < self.lease_for(want);
        let renew = if granted.provisional || cut {
            self.claim_at(granted.valid)
        } else {
            self.next_beat()
        };
        self.share_with_owner(&hold);
        self.state.held.push(Held {
            sendings,
            hold,
            renew,
            granted: granted.counter,
            since: self.now,
            handed: 0,
            owned: !want.share.owner.is_empty(),
            refreshers: Vec::new(),
        });
    }
}
