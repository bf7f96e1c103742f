//! Points in time, on a clock that all processes of the machine share.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_micros() as u64))
    }

    /// Returns zero if `earlier` is later than `self`.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn plus(self, span: Duration) -> Self {
        Self(self.0 + span.as_micros() as u64)
    }
}
