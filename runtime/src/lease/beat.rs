//! The common beat of renewals: everything held is touched at the same points in time, so that it
//! leaves in one batch.

use std::time::Duration;

use crate::clock::Instant;

/// The next beat after `now`: a multiple of a third of the lease.
pub(crate) fn next(now: Instant, lease: Duration) -> Instant {
    let interval = u64::try_from((lease / 3).as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    Instant::from_nanos((now.as_nanos() / interval + 1).saturating_mul(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_common_and_at_most_a_third_of_the_lease_away() {
        let lease = Duration::from_secs(9);
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        assert_eq!(next(at(0), lease), at(3_000));
        assert_eq!(next(at(2_999), lease), at(3_000));
        assert_eq!(next(at(3_000), lease), at(6_000));
    }
}
