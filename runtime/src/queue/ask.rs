//! The one ticket that waits in the store for the first of the local waiters, and what becomes of it when it is
//! granted.

use std::sync::Arc;
use std::time::Duration;

use super::local::Step;
use super::ticket::{Ask, Held, Sendings};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::lease::{Grant, Hold};
use crate::store::{Mode, Op};

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

impl Step<'_> {
    /// Sees to it that a ticket waits in the store exactly while somebody waits here, for what the first wants.
    pub(super) fn match_ask(&mut self) {
        let first = self.state.waiters.front().cloned();
        if let Some(ask) = &self.state.ask {
            let fits = first
                .as_ref()
                .is_some_and(|waiter| waiter.want.share == ask.share);
            if fits {
                return;
            }
            if let Some(ask) = self.state.ask.take() {
                self.withdraw(&ask.sendings);
            }
        }
        if let Some(waiter) = first {
            let mut ask = Ask {
                sendings: Sendings::new(self.now),
                share: waiter.want.share.clone(),
                hold: self.lease_for(&waiter.want),
                again: Instant::NEVER,
                queued: false,
                holder: None,
                stale: 0,
                trouble: None,
            };
            self.send_ask(&mut ask, &waiter);
            self.state.ask = Some(ask);
        }
    }

    /// Asks for the first time, or asks again: a copy does no harm.
    pub(super) fn send_ask(&mut self, ask: &mut Ask, first: &Waiter) {
        let op = Op::Acquire {
            ticket: ask.sendings.ticket,
            counter: ask.sendings.next(self.now),
            share: ask.share.clone(),
            hold: ask.hold,
            place: self.local.lease(),
            mode: Mode::Queue,
            meta: first.want.meta.clone(),
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

    /// The waiting ticket was granted: the first waiter that still wants it gets it.
    pub(super) fn granted(&mut self, ask: Ask, granted: &Granted) {
        let Ask {
            mut sendings,
            hold: lease,
            ..
        } = ask;
        while let Some(waiter) = self.state.waiters.pop_front() {
            let attempts = sendings.count();
            match self.hand(&waiter, sendings, lease, granted, attempts) {
                Ok(()) => return,
                Err(unused) => sendings = unused,
            }
        }
        self.withdraw(&sendings);
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
        let grant = Grant {
            ticket: sendings.ticket,
            token: granted.token.saturating_mul(1024),
            valid: granted.valid,
            waited: waiter.started.until(self.now),
            attempts,
            home: waiter.want.home,
            signal: granted.signal.clone(),
        };
        let hold = Hold::new(self.local.clone(), grant, waiter.want.terms, self.now);
        if waiter
            .promise
            .complete(Ok(hold.clone()), self.wakes)
            .is_err()
        {
            return Err(sendings);
        }
        // It may have been asked for by one before, who wanted to hold for less long.
        let cut = lease < self.lease_for(&waiter.want);
        let renew = if granted.provisional || cut {
            self.now
                .after(CLAIM_WITHIN.min(self.now.until(granted.valid) / 4))
        } else {
            self.next_beat()
        };
        self.state.held.push(Held {
            sendings,
            hold,
            renew,
            granted: granted.counter,
            refreshers: Vec::new(),
        });
        Ok(())
    }
}
