//! [`Loan`]: an idle name that a store lends to its only member.
//!
//! All callers use the same local queue, so the store need not see each grant and release. The member reports the
//! name's state before its next request for the name.

use std::time::SystemTime;

use crate::clock::Instant;

/// The clock of a store in this process: the wall clock at the start plus the monotonic time since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch_us: u64,
    started: Instant,
}

impl Clock {
    /// Starts at the wall clock's time, or just after `last` if that is later.
    pub(crate) fn start(last: u64) -> Self {
        let epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_us = u64::try_from(epoch.as_micros()).unwrap_or(0);
        Self::new(epoch_us.max(last + 1), Instant::now())
    }

    /// Makes a clock that shows `epoch_us` at `started`.
    pub(crate) fn new(epoch_us: u64, started: Instant) -> Self {
        Self { epoch_us, started }
    }

    #[inline]
    pub(crate) fn micros(self, now: Instant) -> u64 {
        let nanos = now.as_nanos().saturating_sub(self.started.as_nanos());
        self.epoch_us + nanos / 1000
    }
}

/// The state that the name would have if the store had seen each grant and release.
#[derive(Clone, Debug)]
pub(crate) struct Loan {
    clock: Clock,
    /// The last token given.
    token: u64,
    /// The time of the last grant or release. It never decreases: after a thread has read the clock, another thread may
    /// grant or release first, with a later time.
    last: u64,
}

impl Loan {
    pub(crate) fn new(clock: Clock, token: u64, last: u64) -> Self {
        Self { clock, token, last }
    }

    /// Grants the idle name and returns the token.
    #[inline]
    pub(crate) fn grant(&mut self, now: Instant) -> u64 {
        self.pass(now);
        self.token = self.last.max(self.token + 1);
        self.token
    }

    /// Releases the last grant.
    #[inline]
    pub(crate) fn release(&mut self, now: Instant) {
        self.pass(now);
    }

    fn pass(&mut self, now: Instant) {
        self.last = self.last.max(self.clock.micros(now));
    }

    /// The last token given.
    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// When the name was last granted or released.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}
