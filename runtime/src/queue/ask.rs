//! The tickets that wait in the store for the first of the local waiters, and what becomes of one when it is granted.
//!
//! For a mutex that is one ticket: it waits for the first waiter, whoever that is by then. Waiters that could hold
//! together, readers for example, have one each, which goes to nobody who comes later.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::local::{Local, Step};
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
        if self.is_matched() {
            return;
        }
        let wanted = self.wanted();
        if wanted == 0 && self.keeps_spare() {
            return;
        }
        let owners = self.owners_behind(wanted);
        let first = self.state.waiters.iter().take(wanted).chain(&owners);
        let matching = first
            .clone()
            .zip(&self.state.asks)
            .take_while(|(waiter, ask)| ask.suits(waiter))
            .count();
        if matching == self.state.asks.len() && matching == wanted + owners.len() {
            return;
        }
        // Mostly one came or went at the end, of many that want the same: nothing else is moved.
        let others: Vec<_> = first.clone().skip(matching).cloned().collect();
        let mut spare = self.state.asks.split_off(matching);
        let mut missing = Vec::new();
        let mut served: Vec<_> = first.take(matching).cloned().collect();
        for waiter in others {
            match spare.iter().position(|ask| ask.suits(&waiter)) {
                Some(index) => {
                    self.state.asks.push(spare.remove(index));
                    served.push(waiter);
                }
                None => missing.push(waiter),
            }
        }
        for mut ask in spare {
            // A place that is known of is worth more than one that is only asked for.
            let mut kept = self.state.asks.iter_mut().zip(&served);
            let lesser = |(kept, waiter): &(&mut Ask, &Arc<Waiter>)| {
                ask.queued && !kept.queued && ask.suits(waiter)
            };
            if let Some((kept, _)) = kept.find(lesser) {
                std::mem::swap(kept, &mut ask);
            }
            self.withdraw(&ask.sendings);
        }
        for waiter in missing {
            let mut ask = self.new_ask(&waiter.want);
            self.send_ask(&mut ask, &waiter.want);
            self.state.asks.push(ask);
        }
    }

    /// Whether the only ticket waits for the first of waiters who exclude each other: mostly so.
    fn is_matched(&self) -> bool {
        let ([ask], Some(first)) = (&*self.state.asks, self.state.waiters.front()) else {
            return false;
        };
        let share = &first.want.share;
        share.units == share.capacity && share.units > 0 && !self.state.owners && ask.suits(first)
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

    /// Who waits behind the first `wanted` for what its owner may hold in another process, once for each owner: in
    /// the store it is let in, whatever its place.
    fn owners_behind(&mut self, wanted: usize) -> Vec<Arc<Waiter>> {
        if !self.state.owners {
            return Vec::new();
        }
        let owned = |waiter: &&Arc<Waiter>| !waiter.want.share.owner.is_empty();
        self.state.owners = self.state.waiters.iter().any(|waiter| owned(&waiter));
        let first = self.state.waiters.iter().take(wanted).filter(owned);
        let mut known: HashSet<_> = first.map(|waiter| &waiter.want.share.owner).collect();
        let behind = self.state.waiters.iter().skip(wanted).filter(owned);
        behind
            .filter(|waiter| known.insert(&waiter.want.share.owner))
            .cloned()
            .collect()
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
            waiter.note_registered(self.wakes);
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

    /// A waiting ticket was granted, which lay at `index`: the waiter gets it that it was for, or else the first one
    /// that it suits.
    pub(super) fn granted(&mut self, index: usize, mut ask: Ask, granted: &Granted) {
        let waiters = &self.state.waiters;
        let mut own = waiters
            .get(index)
            .is_some_and(|own| ask.suits(own))
            .then_some(index);
        let (lease, attempts) = (ask.hold, ask.sendings.count());
        loop {
            let mut waiters = self.state.waiters.iter();
            let next = own
                .take()
                .or_else(|| waiters.position(|waiter| ask.suits(waiter)));
            let Some(waiter) = next.and_then(|next| self.state.waiters.remove(next)) else {
                break;
            };
            match self.hand(&waiter, ask.sendings, lease, granted, attempts) {
                Ok(()) => return,
                Err(unused) => ask.sendings = unused,
            }
        }
        self.withdraw(&ask.sendings);
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
        let how = (waited, attempts);
        let hold = self
            .local
            .new_hold(want, sendings.ticket, granted, how, self.now);
        self.share_with_owner(&hold);
        if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
            return Err(sendings);
        }
        self.keep(hold, want, sendings, lease, granted);
        Ok(())
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
        self.state.held.push(Held {
            sendings,
            hold,
            renew,
            leased: self.now.after(lease),
            granted: granted.counter,
            since: self.now,
            handed: 0,
            owned: !want.share.owner.is_empty(),
            refreshers: Vec::new(),
        });
    }
}

impl Local {
    /// What somebody who wanted `want` gets by a grant, after so long and so many attempts.
    #[inline]
    pub(super) fn new_hold(
        self: &Arc<Self>,
        want: &Want,
        ticket: Ticket,
        granted: &Granted,
        (waited, attempts): (Duration, u32),
        now: Instant,
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
        Hold::new(self.clone(), grant, want.terms, now)
    }
}
