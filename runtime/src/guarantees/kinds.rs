//! What can be said about one event. Each from the best to the worst: of two servers the greater counts.

use std::fmt;
use std::time::Duration;

/// What becomes of held locks when a server is killed and starts again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AfterRestart {
    /// The locks are in this process, and end with it.
    NoServer,
    /// They are there again: every write is on disk before it is answered.
    Kept,
    /// They may be forgotten, but nothing is granted until every lease of before has ended.
    Closed {
        /// For so long, from the start of the server on.
        time: Duration,
    },
    /// Those of the last seconds or minutes may be forgotten, and granted to somebody else at once.
    LastForgotten,
    /// All are forgotten, and granted to somebody else at once.
    Forgotten,
    /// Not known, for want of a right.
    Unknown,
}

/// What becomes of held locks when a replica takes the place of its primary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AfterFailover {
    /// There is no replica that could.
    NoReplicas,
    /// Some may be forgotten, but nothing is granted until every lease of before has ended, and the old primary grants
    /// nothing without replicas (`min-replicas-to-write`).
    Closed {
        /// For so long, from when the first client saw the new primary.
        time: Duration,
    },
    /// As `Closed`, but an old primary that is cut off from its replicas goes on granting.
    OldPrimaryGoesOn {
        /// For so long the new one is closed.
        time: Duration,
    },
    /// Not known, for want of a right.
    Unknown,
}

/// Whether a lock may be evicted when memory is full.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Eviction {
    /// No.
    Never,
    /// Not before somebody sets `maxmemory`.
    NoLimit {
        /// The `maxmemory-policy` of the server.
        policy: String,
    },
    /// Yes.
    Possible {
        /// The `maxmemory-policy` of the server.
        policy: String,
    },
    /// Not known, for want of a right.
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
                "nothing is granted for {time:?}, but by an old primary that is cut off"
            ),
            Self::Unknown => f.write_str("not known"),
        }
    }
}

impl fmt::Display for Eviction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::NoLimit { policy } => {
                write!(f, "never as long as there is no maxmemory ({policy})")
            }
            Self::Possible { policy } => write!(f, "possible ({policy})"),
            Self::Unknown => f.write_str("not known"),
        }
    }
}
