//! A ticket that waits in the store: asking, asking again, and its grant. Which waiter it is for, `places` says.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Grant, Hold};
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Ask, Held, SendLog};
use super::waiter::{Waiter, Want};
use crate::clock::Instant;
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

impl Transition<'_> {
    pub(super) fn new_ask(&self, want: &Want) -> Ask {
        Ask {
            log: SendLog::new(self.now),
            share: want.share.clone(),
            hold: self.lease_for(want),
            owed: self.now,
            again: Instant::NEVER,
            queued: false,
            holder: None,
            stale: 0,
            trouble: None,
        }
    }

    pub(super) fn find_ask(&self, ticket: Ticket) -> Option<usize> {
        let mut asks = self.state.asks.iter();
        asks.position(|ask| ask.log.ticket == ticket)
    }

    /// Asks again for those that `which` chooses.
    pub(super) fn ask_again(&mut self, which: impl Fn(&Ask) -> bool) {
        let mut asks = std::mem::take(&mut self.state.asks);
        for (index, ask) in asks.iter_mut().enumerate() {
            if !which(ask) {
                continue;
            }
            let own = self.own_waiter(index, ask);
            match own.map(|own| self.state.waiters[own].clone()) {
                Some(own) if !ask.queued => self.send_ask(ask, &own.want),
                _ => self.touch_ask(ask),
            }
        }
        self.state.asks = asks;
    }

    /// Asks for the first time, or asks again: a copy does no harm.
    pub(super) fn send_ask(&mut self, ask: &mut Ask, first: &Want) {
        let op = Op::Acquire {
            ticket: ask.log.ticket,
            counter: ask.log.next(self.now),
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
            ticket: ask.log.ticket,
            counter: ask.log.next(self.now),
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
        let (lease, attempts) = (ask.hold, ask.log.count());
        while let Some(waiter) = self.take_own_waiter(index, &ask) {
            match self.hand(&waiter, ask.log, lease, granted, attempts) {
                Ok(()) => return,
                Err(unused) => ask.log = unused,
            }
        }
        self.withdraw(&ask.log);
    }

    /// When to claim what is `valid` for so long only.
    pub(super) fn claim_at(&self, valid: Instant) -> Instant {
        self.now.after(CLAIM_WITHIN.min(self.now.until(valid) / 4))
    }

    /// Gives a granted ticket to `waiter`; it comes back if the waiter has gone.
    pub(super) fn hand(
        &mut self,
        waiter: &Arc<Waiter>,
        log: SendLog,
        lease: Duration,
        granted: &Granted,
        attempts: u32,
    ) -> Result<(), SendLog> {
        let (want, waited) = (&waiter.want, waiter.started.until(self.now));
        let how = (waited, attempts);
        let hold = self
            .local
            .new_hold(want, log.ticket, granted, how, self.now);
        self.share_with_owner(&hold);
        if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
            return Err(log);
        }
        self.keep(hold, want, log, lease, granted);
        Ok(())
    }

    /// From now on `hold` is renewed.
    pub(super) fn keep(
        &mut self,
        hold: Arc<Hold>,
        want: &Want,
        log: SendLog,
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
            log,
            hold,
            renew,
            leased: self.now.after(lease),
            granted: granted.counter,
            since: self.now,
            handed: 0,
            owned: !want.share.owner.is_empty(),
            refreshers: Vec::new(),
            bounds: Vec::new(),
        });
    }
}

impl LockQueue {
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
            waited: want.past.waited + waited,
            attempts: want.past.attempts.saturating_add(attempts),
            meta: want.meta.clone(),
            home: want.home,
        };
        Hold::new(self.clone(), grant, want.terms, now)
    }
}
