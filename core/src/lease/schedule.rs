//! All holds of a client are renewed at the same times, so that the renewals leave in one batch.

use std::time::Duration;

use crate::clock::Instant;

/// Renewals are due at multiples of a third of the lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenewalSchedule {
    nanos: u64,
}

impl RenewalSchedule {
    pub(crate) fn of(lease: Duration) -> Self {
        let nanos = u64::try_from((lease / 3).as_nanos()).unwrap_or(u64::MAX);
        let nanos = nanos.max(1);
        Self { nanos }
    }

    pub(crate) fn after(self, now: Instant) -> Instant {
        let count = now.as_nanos() / self.nanos + 1;
        Instant::from_nanos(count.saturating_mul(self.nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_common_and_at_most_a_third_of_the_lease_away() {
        let beat = RenewalSchedule::of(Duration::from_secs(9));
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        assert_eq!(beat.after(at(0)), at(3_000));
        assert_eq!(beat.after(at(2_999)), at(3_000));
        assert_eq!(beat.after(at(3_000)), at(6_000));
    }
}
