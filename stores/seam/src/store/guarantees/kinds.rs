//! Possible effects of an event on locks, from best to worst. Of two servers, the worse effect counts.

use std::fmt;
use std::time::Duration;

/// What happens to held locks when a server is killed and starts again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AfterRestart {
    /// The locks are in this process, and end with the process.
    NoServer,
    /// Locks survive: the server writes every change to disk before it answers.
    Kept,
    /// Locks may be lost, but nothing is granted until every earlier lease has ended.
    Closed {
        /// How long the server grants nothing after its start.
        time: Duration,
    },
    /// Locks granted in the last seconds or minutes may be lost, and may immediately be granted to other callers.
    LastForgotten,
    /// All locks are lost, and may immediately be granted to other callers.
    Forgotten,
    /// Unknown, because the user lacks a right, or the server does not report it.
    Unknown,
}

/// What happens to held locks when a replica replaces its primary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AfterFailover {
    /// There are no replicas.
    NoReplicas,
    /// Locks may be lost, but nothing is granted until every earlier lease has ended. Without replicas, the old primary
    /// grants nothing (`min-replicas-to-write`).
    Closed {
        /// How long the new primary grants nothing after the first client saw it.
        time: Duration,
    },
    /// Like `Closed`, but an old primary that is cut off from its replicas still grants.
    OldPrimaryGoesOn {
        /// How long the new primary grants nothing.
        time: Duration,
    },
    /// The server does not report its promotion, so nothing guards against early grants after a failover. Locks may be
    /// lost, and may immediately be granted to other callers.
    Unnoticed,
    /// [`Config::trust_failover`](crate::Config::trust_failover) is on: nothing waits for earlier leases. If the
    /// failover loses a lock, it may be granted to another caller at once.
    Trusted,
    /// Unknown, because the user lacks a right, or the server does not report it.
    Unknown,
}

/// Whether a lock may be evicted when memory is full.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Eviction {
    /// Locks are never evicted.
    Never,
    /// Locks are not evicted, because `maxmemory` is not set.
    NoLimit {
        /// The `maxmemory-policy` of the server.
        policy: String,
    },
    /// Locks may be evicted.
    Possible {
        /// The `maxmemory-policy` of the server.
        policy: String,
    },
    /// Unknown, because the user lacks a right, or the server does not report it.
    Unknown,
}

impl fmt::Display for AfterRestart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer => f.write_str("there is no server"),
            Self::Kept => f.write_str("locks are kept"),
            Self::Closed { time } => write!(f, "nothing is granted for {time:?}"),
            Self::LastForgotten => f.write_str("the latest locks may be forgotten"),
            Self::Forgotten => f.write_str("all locks are forgotten"),
            Self::Unknown => f.write_str("not known"),
        }
    }
}

impl fmt::Display for AfterFailover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoReplicas => f.write_str("there are no replicas"),
            Self::Closed { time } => write!(f, "nothing is granted for {time:?}"),
            Self::OldPrimaryGoesOn { time } => write!(
                f,
                "nothing is granted for {time:?}, except by an old primary that is cut off"
            ),
            Self::Unnoticed => {
                f.write_str("locks may be granted twice: the server does not report it")
            }
            Self::Trusted => {
                f.write_str("trusted to lose no lock; nothing waits for earlier leases")
            }
            Self::Unknown => f.write_str("not known"),
        }
    }
}

impl fmt::Display for Eviction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::NoLimit { policy } => {
                write!(f, "never while maxmemory is not set ({policy})")
            }
            Self::Possible { policy } => write!(f, "possible ({policy})"),
            Self::Unknown => f.write_str("not known"),
        }
    }
}
