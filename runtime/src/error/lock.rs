//! [`LockError`]: why a lock was not obtained, or not kept.

use std::fmt;
use std::time::{Duration, SystemTime};

use thiserror::Error;

use super::{StoreError, StoreErrorKind, kind};

/// Why a lock was not obtained, or not kept.
///
/// A timeout is never reported as an outage, nor the reverse.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// The lock was held by another caller for all of `block`.
    #[error("lock `{name}` not obtained within {waited:?}{}", held_by(.holder))]
    Timeout {
        /// The lock.
        name: String,
        /// How long the call waited.
        waited: Duration,
        /// Who held it when the store was last asked, if it said so.
        holder: Option<Holder>,
    },

    /// The lock was held and then lost: its lease could not be renewed in time, its `expire` ended, or it was broken
    /// with `force_unlock`. Another caller may hold it now. (Where the `expire` of a nested call ended, the call around
    /// it holds it.)
    ///
    /// A call never returns a lock that was lost before the call could return: it keeps waiting, within its `block`.
    /// That happens if the executor is busy, or the machine sleeps, for longer than `expire`; the sixth time in a row
    /// is this error.
    #[error("lock `{name}` lost after {held:?}: what it protects may be in use by another holder")]
    Lost {
        /// The lock.
        name: String,
        /// How long it was held, counted until the loss was noticed.
        held: Duration,
    },

    /// The calling task holds this lock already and the handle is not re-entrant.
    #[error(
        "lock `{name}` is already held by the calling task; make the handle `.reentrant()` or unlock it first"
    )]
    AlreadyHeld {
        /// The lock.
        name: String,
    },

    /// Waiting would never end: the holder cannot go on before the waiter does.
    #[error("waiting for {} would never end: {}", .cycle.first().map_or("the lock", String::as_str), .cycle.join(" -> "))]
    Deadlock {
        /// The locks that block each other.
        cycle: Vec<String>,
    },

    /// All `retries` found the lock held.
    #[error("lock `{name}` still held after {attempts} attempts{}", held_by(.holder))]
    TooManyAttempts {
        /// The lock.
        name: String,
        /// How often the store was asked.
        attempts: u32,
        /// Who held it at the last attempt, if the store said so.
        holder: Option<Holder>,
    },

    /// Fewer replicas than [`Config::replicas`](crate::Config::replicas) asks for had the grant in time. It was
    /// released.
    #[error(
        "lock `{name}` was granted, but only {reached} of {wanted} replicas had that in time: it was released; see to the replicas of the lock store"
    )]
    NotReplicated {
        /// The lock.
        name: String,
        /// How many were asked for.
        wanted: u32,
        /// How many had it in time.
        reached: u32,
    },

    /// The store does not answer or cannot serve, or it was restarted or failed over and grants nothing yet (see
    /// [`Config::restart_guard`](crate::Config::restart_guard)). Whether the lock is held is unknown.
    #[error("the lock store is unavailable: {source}")]
    Unavailable {
        /// What the store or the connection said.
        source: StoreError,
    },

    /// The name is in use as another kind of lock, or with another number of permits. A mutex has one permit, a
    /// readers-writer lock 2^30.
    #[error(
        "`{name}` is in use as {}, asked for as {}: all users of a name must agree",
        kind::of(*.found),
        kind::of(*.expected)
    )]
    PermitsMismatch {
        /// The lock.
        name: String,
        /// What this handle says.
        expected: u32,
        /// What the current holders and waiters say.
        found: u32,
    },

    /// A semaphore with holders or waiters cannot be deleted.
    #[error(
        "`{name}` is in use by {holders} holders and {waiters} waiters: delete it when nobody is left, or break it with `force_unlock` first"
    )]
    InUse {
        /// The lock.
        name: String,
        /// How many holders there are.
        holders: u64,
        /// How many waiters there are.
        waiters: u64,
    },

    /// The key of the lock holds data that this library did not write. It was not changed.
    #[error(
        "the key of lock `{name}` holds data that is not a lock of this library; choose another name or namespace, or delete the key"
    )]
    ForeignKey {
        /// The lock.
        name: String,
    },

    /// This kind of store cannot do this. For example, the servers of a quorum do not know of each other, so they
    /// cannot hand out each token of a semaphore just once.
    #[error("the lock store ({store}) does not support {what}")]
    Unsupported {
        /// What was asked for, and why it cannot be had.
        what: String,
        /// The scheme of the store's URL.
        store: &'static str,
    },

    /// No client is in force: `auto_mutex::setup` was not called.
    #[error(
        "no lock store: call auto_mutex::setup(\"redis://…\") at the top of main, or use Client::scope"
    )]
    NotSetUp,

    /// The process was forked after the client was made; the child must make its own.
    #[error("this process was forked after the client was set up: make a new Client in the child")]
    Forked,

    /// The client was shut down.
    #[error("the lock client was shut down")]
    ShutDown,

    /// The name is invalid.
    #[error("invalid lock name `{name}`: {reason}")]
    InvalidName {
        /// The name, or its beginning.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// The value of an option is invalid.
    #[error("invalid `{option}`: {reason}")]
    InvalidOption {
        /// The option.
        option: &'static str,
        /// What is wrong with its value.
        reason: &'static str,
    },
}

impl LockError {
    /// The name of the lock, if the error is about one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Timeout { name, .. }
            | Self::Lost { name, .. }
            | Self::AlreadyHeld { name }
            | Self::TooManyAttempts { name, .. }
            | Self::PermitsMismatch { name, .. }
            | Self::InUse { name, .. }
            | Self::ForeignKey { name }
            | Self::InvalidName { name, .. } => Some(name),
            Self::Deadlock { cycle } => cycle.first().map(String::as_str),
            _ => None,
        }
    }

    /// Whether waiting helps: another caller held the lock, or the store grants nothing yet.
    pub(crate) fn is_passing(&self) -> bool {
        let closed = matches!(self, Self::Unavailable { source } if source.kind() == StoreErrorKind::NotGrantingYet);
        self.is_timeout() || closed
    }

    /// Whether another caller held the lock all the time: `Timeout` or `TooManyAttempts`.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::TooManyAttempts { .. })
    }
}

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The machine's host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The place in the program: an annotated function, or the handle's name.
    pub site: String,
    /// Since when, by the store's clock.
    pub since: SystemTime,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {} on {})", self.site, self.pid, self.host)
    }
}

fn held_by(holder: &Option<Holder>) -> String {
    match holder {
        Some(holder) => format!("; held by {holder}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_and_can_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<LockError>();
        assert!(size_of::<LockError>() < 128);
    }

    #[test]
    fn a_mismatch_speaks_of_kinds() {
        let mismatch = |expected, found| {
            let name = "n:m".to_owned();
            LockError::PermitsMismatch {
                name,
                expected,
                found,
            }
            .to_string()
        };
        assert!(
            mismatch(1, 5)
                .starts_with("`n:m` is in use as a semaphore of 5 permits, asked for as a mutex:")
        );
        assert!(mismatch(5, 1 << 30).contains("a readers-writer lock, asked for as a sem"));
    }
}
