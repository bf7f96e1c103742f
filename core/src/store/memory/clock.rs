//! [`Clock`]: the time of a store in this process.

use std::time::SystemTime;

use crate::clock::Instant;

/// The wall clock at the start plus the monotonic time since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    epoch_us: u64,
    started: Instant,
}

impl Clock {
    /// Starts at the wall clock's time, or just after `last` if that is later.
    pub(super) fn start(last: u64) -> Self {
        let epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_us = u64::try_from(epoch.as_micros()).unwrap_or(0);
        Self {
            epoch_us: epoch_us.max(last + 1),
            started: Instant::now(),
        }
    }

    pub(super) fn micros(self, now: Instant) -> u64 {
        let nanos = now.as_nanos().saturating_sub(self.started.as_nanos());
        self.epoch_us + nanos / 1000
    }
}
