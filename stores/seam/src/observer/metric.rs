//! [`Metric`]: the metrics, with their names, units and labels.

// The names of the labels.
pub const SITE: &str = "lock.site";
pub const KIND: &str = "lock.kind";
pub const OUTCOME: &str = "outcome";
pub const VIA: &str = "via";
pub const CAUSE: &str = "cause";
pub const OPERATION: &str = "operation";

/// A metric for an [`Observer`](crate::Observer). Names, units and labels follow OpenTelemetry's conventions.
///
/// | name | kind | labels |
/// |---|---|---|
/// | `auto_mutex.acquire.duration` | histogram, s | `lock.site`, `lock.kind`, `outcome`, `via` |
/// | `auto_mutex.hold.duration` | histogram, s | `lock.site`, `lock.kind` |
/// | `auto_mutex.active` | up-down counter | `lock.site`, `lock.kind` |
/// | `auto_mutex.waiting` | up-down counter | `lock.site`, `lock.kind` |
/// | `auto_mutex.lost` | counter | `lock.site`, `lock.kind`, `cause` |
/// | `auto_mutex.renewal.failures` | counter | `lock.site`, `lock.kind` |
/// | `auto_mutex.handoff` | counter | `lock.site`, `lock.kind` |
/// | `auto_mutex.leader` | up-down counter | `lock.site` |
/// | `auto_mutex.leader.term` | up-down counter | `lock.site` |
/// | `auto_mutex.leader.changes` | counter | `lock.site` |
/// | `auto_mutex.store.operation.duration` | histogram, s | `operation` |
/// | `auto_mutex.store.connected` | up-down counter | none |
///
/// | label | values |
/// |---|---|
/// | `lock.site` | the template of an annotated function, as [`Site::name`](struct.Site.html#method.name) (with `{Self}` in place of the type, where only a method is annotated); `by_hand` for a handle, or its [`metrics_label`](struct.Mutex.html#method.metrics_label); `leader` for a [`Leader`](struct.Leader.html) |
/// | `lock.kind` | `mutex`, `semaphore`, `reader`, `writer`, `leader` |
/// | `outcome` | `acquired`, `timeout` (`block` or `retries` were over), `busy` (the call did not wait), `shed` (too many waited: `max_waiters`), `unavailable`, `lost` (each grant ended before the call could use it), `cancelled` (its future was dropped), `refused` (it cannot succeed: the name is another kind of lock, for example, or the client drains or was shut down) |
/// | `via` | `kept` if the client had kept the lock after an earlier call, `local` after a handoff inside the process; otherwise `store` |
/// | `cause` | a [`LossCause`](crate::LossCause): `not_renewed`, `expired`, `forced`, `forgotten`, `released`, `shut_down`, `forked`, `stalled` |
/// | `operation` | `acquire`, `touch`, `release`, `adopt`, `force`, `kick`, `refresh`, `signal`, `delete`, `inspect` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// How long a call for a lock took, whatever its outcome. Nested calls that share the outer call's lock are not
    /// counted. A call for several locks counts once.
    AcquireDuration,
    /// How long a lock was held, until its release or its loss.
    HoldDuration,
    /// The locks held now. A call for several locks counts each of them.
    Active,
    /// The calls waiting now.
    Waiting,
    /// Locks that were lost while they were held.
    Lost,
    /// Failed renewals of leases. Each is retried until the end of the lease.
    RenewalFailures,
    /// Releases that passed the lock to the next waiter of the same process, without the store.
    Handoff,
    /// Whether this process leads: 1 for each seat that it has, and 0 from when it begins to stand. Nothing is reported
    /// for a seat for which it never stood. For each seat, the sum over all processes is 1. Seats are told apart by
    /// their [labels](struct.Leader.html#method.metrics_label).
    Leader,
    /// The calls of this process that stand for the seat or lead. 0 after they have all ended: then nobody takes over.
    LeaderStanding,
    /// The number of the term in which this process leads, and 0 otherwise.
    LeaderTerm,
    /// Terms of this process that have begun.
    LeaderChanges,
    /// How long the store took to answer a request. Neither stores in this process, which answer immediately, nor the
    /// requests of searches for deadlocks are measured.
    StoreOperationDuration,
    /// The number of servers to which this process's clients are connected. A cluster counts each primary. A quorum
    /// counts as one while a majority is reachable, and a store in this process as one.
    StoreConnected,
}

/// The kind of a [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricKind {
    /// Receives durations, through [`Observer::record`](crate::Observer::record).
    Histogram,
    /// Only grows, through [`Observer::add`](crate::Observer::add).
    Counter,
    /// Grows and shrinks, through [`Observer::add`](crate::Observer::add).
    UpDownCounter,
}

const OF_LOCK: &[&str] = &[SITE, KIND];

impl Metric {
    /// All metrics.
    pub const ALL: &'static [Self] = &[
        Self::AcquireDuration,
        Self::HoldDuration,
        Self::Active,
        Self::Waiting,
        Self::Lost,
        Self::RenewalFailures,
        Self::Handoff,
        Self::Leader,
        Self::LeaderStanding,
        Self::LeaderTerm,
        Self::LeaderChanges,
        Self::StoreOperationDuration,
        Self::StoreConnected,
    ];

    /// Recommended histogram buckets, in seconds: 0.1 ms to 60 s.
    pub const BUCKETS: &'static [f64] = &[
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
        5.0, 10.0, 30.0, 60.0,
    ];

    /// The name, for example `auto_mutex.acquire.duration`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AcquireDuration => "auto_mutex.acquire.duration",
            Self::HoldDuration => "auto_mutex.hold.duration",
            Self::Active => "auto_mutex.active",
            Self::Waiting => "auto_mutex.waiting",
            Self::Lost => "auto_mutex.lost",
            Self::RenewalFailures => "auto_mutex.renewal.failures",
            Self::Handoff => "auto_mutex.handoff",
            Self::Leader => "auto_mutex.leader",
            Self::LeaderStanding => "auto_mutex.leader.standing",
            Self::LeaderTerm => "auto_mutex.leader.term",
            Self::LeaderChanges => "auto_mutex.leader.changes",
            Self::StoreOperationDuration => "auto_mutex.store.operation.duration",
            Self::StoreConnected => "auto_mutex.store.connected",
        }
    }

    /// The kind.
    #[must_use]
    pub const fn kind(self) -> MetricKind {
        match self {
            Self::AcquireDuration | Self::HoldDuration | Self::StoreOperationDuration => {
                MetricKind::Histogram
            }
            Self::Active
            | Self::Waiting
            | Self::Leader
            | Self::LeaderStanding
            | Self::LeaderTerm
            | Self::StoreConnected => MetricKind::UpDownCounter,
            Self::Lost | Self::RenewalFailures | Self::Handoff | Self::LeaderChanges => {
                MetricKind::Counter
            }
        }
    }

    /// The unit: `s` for a histogram, and for a counter, what it counts, in braces.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::AcquireDuration | Self::HoldDuration | Self::StoreOperationDuration => "s",
            Self::Active | Self::Lost => "{lock}",
            Self::Waiting | Self::LeaderStanding => "{call}",
            Self::RenewalFailures => "{renewal}",
            Self::Handoff => "{handoff}",
            Self::Leader => "{leader}",
            Self::LeaderTerm | Self::LeaderChanges => "{term}",
            Self::StoreConnected => "{server}",
        }
    }

    /// A description, in one sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::AcquireDuration => "How long a call for a lock took.",
            Self::HoldDuration => "How long a lock was held.",
            Self::Active => "Locks that this process holds.",
            Self::Waiting => "Calls of this process that wait for a lock.",
            Self::Lost => "Locks that were lost while they were held.",
            Self::RenewalFailures => "Renewals of leases that failed.",
            Self::Handoff => "Locks that went to the next waiter of the same process.",
            Self::Leader => "Whether this process leads.",
            Self::LeaderStanding => "Calls of this process that stand for the lead, or lead.",
            Self::LeaderTerm => "The number of the term in which this process leads.",
            Self::LeaderChanges => "Terms of this process that have begun.",
            Self::StoreOperationDuration => "How long the lock store took to answer.",
            Self::StoreConnected => "Servers of the lock store that this process is connected to.",
        }
    }

    /// The names of the labels.
    #[must_use]
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Self::AcquireDuration => &[SITE, KIND, OUTCOME, VIA],
            Self::Lost => &[SITE, KIND, CAUSE],
            Self::HoldDuration
            | Self::Active
            | Self::Waiting
            | Self::RenewalFailures
            | Self::Handoff => OF_LOCK,
            Self::Leader | Self::LeaderStanding | Self::LeaderTerm | Self::LeaderChanges => &[SITE],
            Self::StoreOperationDuration => &[OPERATION],
            Self::StoreConnected => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_follow_the_rules_of_opentelemetry() {
        let names: HashSet<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
        for name in names {
            let plain = |c: char| c.is_ascii_lowercase() || matches!(c, '.' | '_');
            assert!(
                name.starts_with("auto_mutex.") && name.chars().all(plain),
                "{name}"
            );
        }
        for metric in Metric::ALL {
            let seconds = metric.kind() == MetricKind::Histogram;
            assert_eq!(metric.unit() == "s", seconds, "{metric:?}");
            assert_eq!(metric.name().ends_with(".duration"), seconds, "{metric:?}");
        }
    }

    #[test]
    fn buckets_grow() {
        assert!(Metric::BUCKETS.is_sorted());
        assert_eq!(Metric::BUCKETS.first(), Some(&0.0001));
        assert_eq!(Metric::BUCKETS.last(), Some(&60.0));
    }
}
