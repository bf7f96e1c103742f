//! [`Rules`]: the durations of a seat.

use core::time::Duration;

use crate::{Instant, Limits};

/// What a seat is told to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// How long a body may run after it was told to end; `None` for a part of the lease.
    pub stop_within: Option<Duration>,
    /// The longest time between two reports of progress; `None` for any.
    pub progress: Option<Duration>,
    /// Whether the process is aborted if a body takes longer than `stop_within`.
    pub aborts: bool,
}

/// Why options are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// A body could not be told before half of the lease is over, and the lease must be renewed in the rest.
    StopsTooLate,
    /// Every body would be aborted.
    StopsTooSoon,
}

/// The durations of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    stop_within: Duration,
    progress: Duration,
    /// If an overrun aborts the process: how long before the end of the validity. A busy machine may do it late.
    aborts: Option<Duration>,
    last_words: Duration,
}

impl Rules {
    /// Of a client with this lease.
    pub fn new(options: Options, lease: Duration, limits: &Limits) -> Result<Self, Refused> {
        let stop_within = options.stop_within.unwrap_or(lease / 5);
        if stop_within > lease / 2 {
            return Err(Refused::StopsTooLate);
        }
        if options.aborts && stop_within < limits.shortest_stop {
            return Err(Refused::StopsTooSoon);
        }
        Ok(Self {
            stop_within,
            progress: options.progress.unwrap_or(Duration::MAX),
            aborts: options.aborts.then_some(lease / limits.abort_part),
            last_words: limits.last_words,
        })
    }

    /// How long a body may run after it was told to end.
    pub fn stop_within(&self) -> Duration {
        self.stop_within
    }

    /// By when the next report of progress must come, if one comes now, or the body begins.
    #[inline]
    pub fn stalls_at(&self, now: Instant) -> Instant {
        now.after(self.progress)
    }

    /// Whether a lease that is valid until `valid` leaves time to work, and not only to end. A grant that came as a
    /// message does not, until its claim is answered.
    pub fn may_begin(&self, valid: Instant, now: Instant) -> bool {
        self.tells_at(valid) > now.after(self.stop_within / 2)
    }

    /// When a body must be told to end if the lease is not renewed.
    pub(super) fn tells_at(&self, valid: Instant) -> Instant {
        self.ends_at(valid).before(self.stop_within)
    }

    /// After this, another seat may lead.
    fn ends_at(&self, valid: Instant) -> Instant {
        valid.before(self.aborts.unwrap_or_default())
    }

    /// By when a body that is told now must have ended.
    pub(super) fn stops_at(&self, valid: Instant, now: Instant) -> Instant {
        let ends = now.after(self.stop_within).min(self.ends_at(valid));
        match self.aborts {
            Some(_) => ends.before(self.last_words),
            None => ends,
        }
    }

    pub(super) fn aborts(&self) -> bool {
        self.aborts.is_some()
    }
}
