//! The plan of a contest: its leases and its duration.

use std::time::Duration;

use auto_mutex_tests::events::LONG;

/// The mutex that all tasks want.
pub(crate) const NAME: &str = "m";
/// The lease where faults happen.
const LEASE: Duration = Duration::from_secs(2);

/// The plan of one contest.
pub(crate) struct Plan {
    /// The text that is printed with the seed.
    pub(crate) what: &'static str,
    pub(crate) lease: Duration,
    pub(crate) duration: Duration,
}

impl Plan {
    /// A contest without faults. Its leases are so long that none ends.
    pub(crate) fn calm(what: &'static str) -> Self {
        let (lease, duration) = (LONG, duration(2));
        Self {
            what,
            lease,
            duration,
        }
    }

    /// A contest with faults, so that leases end.
    pub(crate) fn with_faults(what: &'static str, seconds: u64) -> Self {
        let (lease, duration) = (LEASE, duration(seconds));
        Self {
            what,
            lease,
            duration,
        }
    }
}

/// How long a campaign lasts: `AUTO_MUTEX_CAMPAIGN_SECONDS`, or `default` seconds.
pub(crate) fn duration(default: u64) -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_CAMPAIGN_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(default))
}
