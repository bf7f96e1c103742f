//! [`Hold`]: one grant, from its arrival to its release or loss.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::call::Caller;
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

/// Why a hold is over that was valid until `valid`. With `whole`, nothing has changed since a grant whose lease lasts
/// until the end of `expire`. It ends a little earlier than that, because of the allowance for clock drift.
pub fn cause_of_end(
    valid: Instant,
    expires: Instant,
    whole: Option<(Instant, Instant)>,
    lease: Duration,
) -> LossCause {
    if whole == Some((valid, expires)) || expires <= valid.after(drift(lease)) {
        LossCause::Expired
    } else {
        LossCause::NotRenewed
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
    /// The validity and the end of `expire` at the grant, if the lease lasts until then.
    pub(super) whole: Option<(Instant, Instant)>,
    pub(super) valid: Instant,
    pub(super) expires: Instant,
    pub(super) parked_until: Instant,
    ended: Option<Ended>,
}

impl<C: Caller> Hold<C> {
    #[inline]
    pub(super) fn new(caller: C, grant: &Grant, now: Instant) -> Self {
        let tenure = caller.want().tenure;
        let expires = now.after_all(tenure.expire);
        Self {
            token: grant.token,
            is_signal: grant.signal.is_some(),
            since: now,
            units: caller.want().share.units,
            whole: grant.whole.then_some((grant.valid, expires)),
            valid: grant.valid,
            expires,
            parked_until: now.after(tenure.at_least.unwrap_or_default()),
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
            false => Ended::Lost(cause_of_end(self.valid, self.expires, self.whole, lease)),
        };
        self.ended = Some(how);
        let hold = self.caller.id();
        effects.push(Effect::Ended { hold, how, asked });
        how
    }

    /// Extends the lease. A lost hold stays lost.
    pub(super) fn extend(&mut self, valid: Instant, effects: &mut Vec<Effect<C>>) {
        self.set_valid(self.valid.max(valid), effects);
    }

    /// Shortens the validity, before the store is asked for a shorter lease.
    pub(super) fn cut(&mut self, valid: Instant, effects: &mut Vec<Effect<C>>) {
        self.set_valid(self.valid.min(valid), effects);
    }

    fn set_valid(&mut self, valid: Instant, effects: &mut Vec<Effect<C>>) {
        if valid != self.valid {
            self.valid = valid;
            let hold = self.caller.id();
            effects.push(Effect::Valid { hold, valid });
        }
    }

    /// What its guards have changed.
    pub(super) fn seen(&mut self, expires: Instant, parked_until: Instant) {
        self.expires = expires;
        self.parked_until = parked_until;
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
