//! [`Instant`]: local time for leases. Reading the clock is the caller's.

use core::time::Duration;

const DRIFT_DIVISOR: u32 = 100;
const DRIFT_FLOOR: Duration = Duration::from_millis(2);

/// A point of local time, in nanoseconds; on Unix since the machine started. It goes on while the machine sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// Later than all other instants.
    pub const NEVER: Self = Self(u64::MAX);
    /// Earlier than all other instants.
    pub const START: Self = Self(0);

    /// The instant this many nanoseconds after the start of the machine.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The nanoseconds since the start of the machine.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns [`Instant::NEVER`] on overflow.
    #[inline]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// [`Instant::NEVER`] without a duration.
    #[inline]
    pub fn after_all(self, duration: Option<Duration>) -> Self {
        duration.map_or(Self::NEVER, |duration| self.after(duration))
    }

    /// Returns [`Instant::START`] on overflow.
    #[inline]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// Zero if `later` is in the past.
    #[inline]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0))
    }

    /// The first multiple of `period` after this instant.
    #[inline]
    pub fn next_multiple(self, period: Duration) -> Self {
        let period = nanos(period).max(1);
        Self((self.0 / period + 1).saturating_mul(period))
    }

    /// How long a grant of `lease`, requested at `self`, is valid locally.
    #[inline]
    pub fn validity(self, lease: Duration) -> Self {
        self.after(lease.saturating_sub(drift(lease)))
    }

    /// When `time`, counted from `self`, has certainly passed in the store as well.
    pub fn surely_after(self, time: Duration) -> Self {
        self.after(time).after(drift(time))
    }
}

#[inline]
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The margin for clock drift: grants end this much earlier here than in the store, and pauses without grants end this
/// much later.
#[inline]
pub fn drift(time: Duration) -> Duration {
    time / DRIFT_DIVISOR + DRIFT_FLOOR
}

/// A duration between these two, which `random` chooses.
pub fn between(from: Duration, to: Duration, random: u32) -> Duration {
    let fraction = f64::from(random) / f64::from(u32::MAX);
    from + to.saturating_sub(from).mul_f64(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_validity_is_shorter_than_the_lease_by_one_percent_and_two_milliseconds() {
        let sent = Instant::from_nanos(0);
        assert_eq!(
            sent.validity(Duration::from_secs(10)),
            sent.after(Duration::from_millis(9_898))
        );
        assert_eq!(sent.validity(Duration::from_millis(1)), sent);
    }

    #[test]
    fn beats_are_common_and_at_most_a_third_of_the_lease_away() {
        let beat = Duration::from_secs(9) / 3;
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        assert_eq!(at(0).next_multiple(beat), at(3_000));
        assert_eq!(at(2_999).next_multiple(beat), at(3_000));
        assert_eq!(at(3_000).next_multiple(beat), at(6_000));
    }

    #[test]
    fn time_far_away_saturates() {
        let now = Instant::from_nanos(17);
        assert_eq!(now.after(Duration::MAX), Instant::NEVER);
        assert_eq!(Instant::NEVER.until(now), Duration::ZERO);
    }
}
