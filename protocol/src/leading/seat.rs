//! [`Seat`]: one call that stands for a seat, again and again, until its body ends the lead.

use core::time::Duration;

use crate::client::Failure;
use crate::{Limits, StoreErrorKind};

/// Why the call for the lock has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failed {
    /// The store does not serve.
    Unavailable,
    /// Too few replicas have the grant.
    NotReplicated,
    /// The lock was lost before the term began.
    Lost,
    /// Something that another attempt would not change: the client drains, or the name is unusable.
    ForGood,
}

/// The attempts to lead since the last term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seat {
    paused: Duration,
}

impl Seat {
    /// How long to pause before the seat stands again: at most this time, and at least half of it. `None` if the lead
    /// ends with the error.
    pub fn failed(&mut self, why: Failed, limits: &Limits) -> Option<Duration> {
        if why == Failed::ForGood {
            return None;
        }
        let longer = (self.paused * 2).max(limits.stand_again);
        self.paused = longer.min(limits.longest_stand_again);
        Some(self.paused)
    }
}

/// Whether the lead ends with what the body `returned`, which is whether that was `Ok`; `None` if it was cancelled, or
/// never began. Otherwise the seat stands again, behind all who wait. `leads` says whether its term still goes on: an
/// error that comes after the term is the end of the term, unless the work is done.
pub fn ends_lead(returned: Option<bool>, leads: bool) -> bool {
    match returned {
        Some(true) => true,
        Some(false) => leads,
        None => false,
    }
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Lost { .. } => Self::Lost,
            Failure::Unavailable(_) => Self::Unavailable,
            Failure::Refused(error) => match error.kind() {
                StoreErrorKind::Unreplicated { .. } => Self::NotReplicated,
                StoreErrorKind::Foreign | StoreErrorKind::Unsupported => Self::ForGood,
                _ => Self::Unavailable,
            },
            Failure::Timeout { .. }
            | Failure::TooManyAttempts { .. }
            | Failure::Busy { .. }
            | Failure::Mismatch { .. }
            | Failure::TooManyPermits => Self::ForGood,
        }
    }
}
