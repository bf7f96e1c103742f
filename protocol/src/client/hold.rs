//! [`Hold`]: one grant, from its arrival to its release or loss.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::call::{Caller, Terms};
use super::input::{Effect, Failure};
use crate::instant::drift;
use crate::{Instant, LossCause, SharedStr, Ticket};

/// What a grant came from. Only the first needs a request, and it counts for a call that gets several grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// The store granted it to this call.
    Store,
    /// Another call of this process passed it on.
    Handoff,
    /// The client kept the lock after an earlier call.
    Kept,
}

/// What a call gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The ticket that holds in the store.
    pub ticket: Ticket,
    /// The store's time in microseconds × `TOKENS_OF_A_GRANT`, plus the number of the local handoff.
    pub token: u64,
    /// Until when the grant is provably valid.
    pub valid: Instant,
    /// The lease lasts until the end of `expire`, so it is never renewed.
    pub whole: bool,
    /// How many attempts it took.
    pub attempts: u32,
    /// Where it came from.
    pub via: Via,
    /// The signal that was granted instead of units.
    pub signal: Option<Arc<str>>,
    /// The holder that the call waited for, encoded like `meta`; `None` if unknown.
    pub behind: Option<SharedStr>,
}

/// How a hold has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The holder released it.
    Released,
    /// It was lost.
    Lost(LossCause),
}

/// What tells why a hold is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ends {
    /// When it would end by the `expire` of its call.
    pub(super) granted: Option<Instant>,
    /// The validity with which it was granted, if the lease lasts until the end of `expire`.
    pub(super) whole: Option<Instant>,
}

impl Ends {
    /// Of a hold that begins now.
    #[inline]
    pub fn of(grant: &Grant, terms: Terms, now: Instant) -> Self {
        Self {
            granted: terms.expire.map(|expire| now.after(expire)),
            whole: grant.whole.then_some(grant.valid),
        }
    }

    /// Why the hold is over. A lease that was requested up to `expire` ends a little earlier, because of the allowance for
    /// clock drift.
    pub fn cause(self, valid: Instant, expires: Instant, lease: Duration) -> LossCause {
        let whole = self.whole == Some(valid) && self.granted == Some(expires);
        if whole || expires <= valid.after(drift(lease)) {
            LossCause::Expired
        } else {
            LossCause::NotRenewed
        }
    }
}

/// One grant of the name to a call of this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold<C> {
    /// The call that it was granted to.
    pub caller: C,
    /// Its fencing token.
    pub token: u64,
    /// Whether a signal was granted instead of units.
    pub is_signal: bool,
    /// When it began.
    pub since: Instant,
    /// The units that are left of those that were granted.
    pub units: u32,
    pub(super) ends: Ends,
    pub(super) valid: Instant,
    pub(super) expires: Instant,
    pub(super) parked_until: Instant,
    ended: Option<Ended>,
}

impl<C: Caller> Hold<C> {
    #[inline]
    pub(super) fn new(caller: C, grant: &Grant, now: Instant) -> Self {
        let terms = caller.want().terms;
        Self {
            token: grant.token,
            is_signal: grant.signal.is_some(),
            since: now,
            units: caller.want().share.units,
            ends: Ends::of(grant, terms, now),
            valid: grant.valid,
            expires: expires(terms.expire, now),
            parked_until: now.after(terms.at_least),
            ended: None,
            caller,
        }
    }

    /// Until when the lease is valid.
    pub fn valid(&self) -> Instant {
        self.valid
    }

    /// When the hold is lost, unless its lease is extended.
    pub fn deadline(&self) -> Instant {
        self.valid.min(self.expires)
    }

    /// The time until the end of `expire`.
    pub fn expires_in(&self, now: Instant) -> Duration {
        now.until(self.expires)
    }

    /// The units that it takes from the capacity: none if a signal was granted.
    pub fn weight(&self) -> u32 {
        if self.is_signal { 0 } else { self.units }
    }

    /// How long the store keeps it after a release.
    pub(super) fn park(&self, now: Instant) -> Duration {
        now.until(self.parked_until)
    }

    /// The units that the holder keeps, if it has given some back.
    pub(super) fn given_back(&self) -> Option<u32> {
        Some(self.units).filter(|units| *units < self.caller.want().share.units)
    }

    /// Whether it is neither lost nor released.
    pub fn is_valid(&self, now: Instant) -> bool {
        self.ended.is_none() && now < self.deadline()
    }

    /// Ends it; what has ended before keeps its cause. Returns how it has ended now.
    pub(super) fn end(
        &mut self,
        how: Ended,
        (now, lease): (Instant, Duration),
        effects: &mut Vec<Effect<C>>,
    ) -> Ended {
        if let Some(ended) = self.ended {
            return ended;
        }
        let asked = how == Ended::Released;
        let how = match self.is_valid(now) {
            true => how,
            false => Ended::Lost(self.ends.cause(self.valid, self.expires, lease)),
        };
        self.ended = Some(how);
        let hold = self.caller.id();
        effects.push(Effect::Ended { hold, how, asked });
        how
    }

    /// Extends the lease. A lost hold stays lost.
    pub(super) fn extend(&mut self, valid: Instant, effects: &mut Vec<Effect<C>>) {
        if valid > self.valid {
            self.valid = valid;
            let hold = self.caller.id();
            effects.push(Effect::Extended { hold, valid });
        }
    }

    /// Shortens the validity, before the store is asked for a shorter lease.
    pub(super) fn cut(&mut self, valid: Instant, effects: &mut Vec<Effect<C>>) {
        if valid < self.valid {
            self.valid = valid;
            let hold = self.caller.id();
            effects.push(Effect::Cut { hold, valid });
        }
    }

    /// What its guards have changed.
    pub(super) fn seen(&mut self, expires: Instant, parked_until: Instant) {
        self.expires = expires;
        self.parked_until = self.parked_until.max(parked_until);
    }

    pub(super) fn keep_units(&mut self, units: u32) {
        self.units = self.units.min(units);
    }

    /// The error of a renewal of a hold that has ended.
    pub(super) fn lost(&self, now: Instant) -> Failure {
        let cause = match self.ended {
            Some(Ended::Lost(cause)) => cause,
            Some(Ended::Released) | None => LossCause::Released,
        };
        Failure::Lost {
            held: self.since.until(now),
            cause,
        }
    }
}

fn expires(expire: Option<Duration>, now: Instant) -> Instant {
    expire.map_or(Instant::NEVER, |expire| now.after(expire))
}
