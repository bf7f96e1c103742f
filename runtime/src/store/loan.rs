//! [`Loan`]: a free name of a store that only one member uses, in the hands of that member.
//!
//! Who else could ask for it comes by the same local queue, so the store need not hear of every grant and release: it is
//! told what became of the name before it is asked for anything else.

use std::time::SystemTime;

use crate::clock::Instant;

/// The clock of a store in this process: the wall clock at the start plus what the steady clock says since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch_us: u64,
    started: Instant,
}

impl Clock {
    /// Shows the wall clock's time, or the one after `last` if that is later.
    pub(crate) fn start(last: u64) -> Self {
        let epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_us = u64::try_from(epoch.as_micros()).unwrap_or(0);
        Self::new(epoch_us.max(last + 1), Instant::now())
    }

    /// It shows `epoch_us` at `started`.
    pub(crate) fn new(epoch_us: u64, started: Instant) -> Self {
        Self { epoch_us, started }
    }

    #[inline]
    pub(crate) fn micros(self, now: Instant) -> u64 {
        let nanos = now.as_nanos().saturating_sub(self.started.as_nanos());
        self.epoch_us + nanos / 1000
    }
}

/// What the store would know of a name if it had been told of each grant and release.
#[derive(Clone, Debug)]
pub(crate) struct Loan {
    clock: Clock,
    /// The last fencing time given.
    token: u64,
    /// When that was, or the release of it. (The time of a step may have been read before that of the one before.)
    last: u64,
}

impl Loan {
    pub(crate) fn new(clock: Clock, token: u64, last: u64) -> Self {
        Self { clock, token, last }
    }

    /// Grants the name, which nobody holds, and answers with the token.
    #[inline]
    pub(crate) fn grant(&mut self, now: Instant) -> u64 {
        self.pass(now);
        self.token = self.last.max(self.token + 1);
        self.token
    }

    /// What was granted last is free again.
    #[inline]
    pub(crate) fn release(&mut self, now: Instant) {
        self.pass(now);
    }

    fn pass(&mut self, now: Instant) {
        self.last = self.last.max(self.clock.micros(now));
    }

    /// The last fencing time given.
    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// When the name was last granted or released.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}
