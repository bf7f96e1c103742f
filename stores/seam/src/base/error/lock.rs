//! [`LockError`]: why a lock was not obtained, or not kept.

use std::time::Duration;

use thiserror::Error;

use super::deadlock::{DeadlockHop, described};
use super::{Holder, LockKind, LossCause, StoreError};
use crate::base::duration::rounded;
use auto_mutex_protocol::StoreErrorKind;

/// Why a lock was not obtained, or not kept.
///
/// A timeout is never reported as an outage, and an outage never as a timeout.
///
/// The `source` of [`Unavailable`](Self::Unavailable) is the store's error. The text of `Unavailable` does not repeat
/// it, so print the whole chain, as anyhow's `{error:#}` does.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Other callers held the lock for all of `block`.
    #[error("lock `{name}` not obtained {}{}", after(*waited), held_by(.holder.as_deref()))]
    #[non_exhaustive]
    Timeout {
        /// The lock.
        name: String,
        /// How long the call waited.
        waited: Duration,
        /// The holder when the store was last asked, if known.
        holder: Option<Box<Holder>>,
    },

    /// The lock was held and then lost, for the reason in `cause`. Another caller may hold it now. (After the `expire`
    /// of a nested call, the outer call still holds the lock.)
    ///
    /// No call returns a lock that is already lost. If a busy executor or a sleeping machine delays the call by more
    /// than `expire`, the lock can be lost before the call returns. The call then waits for it again, within its
    /// `block`, and returns this error after six such losses in a row.
    ///
    /// All methods of a guard report a loss with this error: `check`, `refresh`, `unlock`, `release`, `downgrade` and
    /// `into_ticket`.
    #[error("{}", lost(name, *held, *cause))]
    #[non_exhaustive]
    Lost {
        /// The lock.
        name: String,
        /// How long it was held until the loss was noticed.
        held: Duration,
        /// Why the lock was lost.
        cause: LossCause,
    },

    /// The calling task already holds this lock, and the handle is not re-entrant. A guard belongs to the task or
    /// thread that took the lock, even after it was moved to another one. Take a lock in the task that uses it.
    #[error(
        "lock `{name}` is already held by the calling task; make the handle `.reentrant()` or unlock it first"
    )]
    #[non_exhaustive]
    AlreadyHeld {
        /// The lock.
        name: String,
    },

    /// The call could never return, because the holder cannot continue before it does.
    ///
    /// Either the calling task (or its thread) holds the lock itself, and `cycle` has one hop; or the call was chosen
    /// to end a deadlock of several calls, which happens if [`Config::deadlock`](crate::Config::deadlock) is
    /// [`Deadlock::Fail`](crate::Deadlock::Fail).
    #[error("{}", described(.cycle))]
    #[non_exhaustive]
    Deadlock {
        /// The calls that wait for each other, the failed call first.
        cycle: Vec<DeadlockHop>,
    },

    /// The first attempt and all `retries` found the lock held.
    #[error("lock `{name}` still held after {attempts} attempts{}", held_by(.holder.as_deref()))]
    #[non_exhaustive]
    TooManyAttempts {
        /// The lock.
        name: String,
        /// How often the store was asked.
        attempts: u32,
        /// The holder at the last attempt, if known.
        holder: Option<Box<Holder>>,
    },

    /// As many calls wait for the lock as [`max_waiters`](crate::Config::max_waiters) allows.
    #[error(
        "lock `{name}`: {waiting} calls are already waiting, as many as `max_waiters` allows; try again later"
    )]
    #[non_exhaustive]
    Busy {
        /// The lock.
        name: String,
        /// How many calls wait: those of this process, and those that others were known to have.
        waiting: u64,
    },

    /// Fewer replicas than [`Config::replicas`](crate::Config::replicas) requires confirmed the grant in time. The lock
    /// was released.
    #[error(
        "lock `{name}` not obtained: only {reached} of {wanted} replicas confirmed the grant in time; check the replicas of the lock store"
    )]
    #[non_exhaustive]
    NotReplicated {
        /// The lock.
        name: String,
        /// How many replicas must have the grant.
        wanted: u32,
        /// How many replicas confirmed the grant in time.
        reached: u32,
    },

    /// The store does not answer, or cannot serve the call. A store that was restarted or failed over, and grants
    /// nothing yet, also causes this error (see [`Config::restart_guard`](crate::Config::restart_guard)). Whether the
    /// lock is held is unknown.
    #[error("lock `{name}`: the lock store at {server} is unavailable")]
    #[non_exhaustive]
    Unavailable {
        /// The lock.
        name: String,
        /// The servers of the store, as in its URL, without credentials.
        server: String,
        /// The error of the store or the connection.
        source: StoreError,
    },

    /// The semaphore is in use with another number of permits, and a call asks for more than the smaller one.
    #[error(
        "semaphore `{name}` is in use with {found} permits, this call gives {expected}, and a call asks for more \
         than the smaller number: give the same number in all programs, or choose another name"
    )]
    #[non_exhaustive]
    PermitsMismatch {
        /// The lock.
        name: String,
        /// The number of permits of this handle.
        expected: u32,
        /// The number of permits that the current holders and waiters use.
        found: u32,
    },

    /// The name is in use as another kind of lock.
    #[error(
        "`{name}` is in use as a {found}, but this call needs a {expected}: give each lock its own name"
    )]
    #[non_exhaustive]
    WrongKind {
        /// The lock.
        name: String,
        /// The kind of this handle.
        expected: LockKind,
        /// The kind that the current holders and waiters use.
        found: LockKind,
    },

    /// A semaphore with holders or waiters cannot be deleted.
    #[error(
        "`{name}` is in use by {holders} holders and {waiters} waiters: delete it when they have finished, or end them with `force_unlock` first"
    )]
    #[non_exhaustive]
    InUse {
        /// The lock.
        name: String,
        /// How many holders there are.
        holders: u64,
        /// How many waiters there are.
        waiters: u64,
    },

    /// The key of the lock holds data unknown to this version of the library, written by another program or in another
    /// protocol version. The data was not changed.
    #[error(
        "the key of lock `{name}` holds data of another program or an incompatible version of this library; choose another name or namespace, or delete the key"
    )]
    #[non_exhaustive]
    ForeignKey {
        /// The lock.
        name: String,
    },

    /// This kind of store does not support the operation. For example, a quorum cannot deliver each token of a
    /// semaphore only once, because its servers do not communicate.
    #[error("lock `{name}`: the lock store ({store}) does not support {what}")]
    #[non_exhaustive]
    Unsupported {
        /// The lock.
        name: String,
        /// The operation, and why it is not supported.
        what: String,
        /// The scheme of the store's URL.
        store: &'static str,
    },

    /// No client is in force. Either `auto_mutex::setup` was not called; or the program uses
    /// [`Client::scope`](struct.Client.html#method.scope), and the call was made outside it, in another task or thread.
    /// Spawned tasks do not inherit the scope; give them the client:
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # use auto_mutex::{Client, LockError, Mutex};
    /// # let client = Client::connect("memory://")?;
    /// let task = client.scope(async {
    ///     let here = auto_mutex::client()?; // the client of this scope
    ///     let work = async { Mutex::new("reports").is_locked().await };
    ///     Ok::<_, LockError>(tokio::spawn(here.scope(work)))
    /// });
    /// assert!(!task.await?.await??);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[error(
        "no lock store: call auto_mutex::setup(\"redis://…\") at the top of main. If you use a client's scope, \
         spawned tasks do not inherit it: write tokio::spawn(client.scope(future))"
    )]
    NotSetUp,

    /// [`current`](fn.current.html) was called where no protected body runs: outside of one, or in a task or thread
    /// that one has started.
    #[error(
        "no protected body runs in this task: call auto_mutex::current() inside an annotated function or \
         `synchronize`. For a spawned task or thread, call it before spawning, and move the result in"
    )]
    NotProtected,

    /// The process was forked after the client was made. The child must call [`setup`](fn.setup.html) or make its own
    /// client.
    #[error(
        "this process was forked after the client was set up: call auto_mutex::setup in the child, or make a new Client"
    )]
    Forked,

    /// The client was shut down or [drains](struct.Client.html#method.drain). While it drains, only running bodies get
    /// locks.
    #[error("the lock client was shut down or is shutting down, so it takes no new locks")]
    ShutDown,

    /// The name is invalid.
    #[error("invalid lock name `{name}`: {reason}")]
    #[non_exhaustive]
    InvalidName {
        /// The name, which may be cut short.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// The value of an option is invalid.
    #[error("invalid `{option}`: {reason}")]
    #[non_exhaustive]
    InvalidOption {
        /// The option.
        option: &'static str,
        /// Why the value is invalid.
        reason: &'static str,
    },
}

impl LockError {
    /// The name of the lock, if the error is about a lock.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Timeout { name, .. }
            | Self::Lost { name, .. }
            | Self::AlreadyHeld { name }
            | Self::TooManyAttempts { name, .. }
            | Self::Busy { name, .. }
            | Self::NotReplicated { name, .. }
            | Self::Unavailable { name, .. }
            | Self::PermitsMismatch { name, .. }
            | Self::WrongKind { name, .. }
            | Self::InUse { name, .. }
            | Self::ForeignKey { name }
            | Self::Unsupported { name, .. }
            | Self::InvalidName { name, .. } => Some(name),
            Self::Deadlock { cycle } => cycle.first().map(|hop| hop.waits_for.as_str()),
            Self::NotSetUp
            | Self::NotProtected
            | Self::Forked
            | Self::ShutDown
            | Self::InvalidOption { .. } => None,
        }
    }

    #[doc(hidden)]
    pub fn waits_for_itself(name: &str) -> Self {
        Self::of_cycle(vec![DeadlockHop::alone(name)])
    }

    #[doc(hidden)]
    pub fn of_cycle(cycle: Vec<DeadlockHop>) -> Self {
        Self::Deadlock { cycle }
    }

    #[doc(hidden)]
    pub fn timed_out(name: String, waited: Duration, holder: Option<Box<Holder>>) -> Self {
        Self::Timeout {
            name,
            waited,
            holder,
        }
    }

    #[doc(hidden)]
    pub fn given_up(name: String, attempts: u32, holder: Option<Box<Holder>>) -> Self {
        Self::TooManyAttempts {
            name,
            attempts,
            holder,
        }
    }

    #[doc(hidden)]
    pub fn crowded(name: String, waiting: u64) -> Self {
        Self::Busy { name, waiting }
    }

    #[doc(hidden)]
    pub fn lost_after(name: String, held: Duration, cause: LossCause) -> Self {
        Self::Lost { name, held, cause }
    }

    #[doc(hidden)]
    pub fn used_by(name: String, holders: u64, waiters: u64) -> Self {
        Self::InUse {
            name,
            holders,
            waiters,
        }
    }

    /// The error for a name in use as another lock. Each of the two is given as kind and capacity.
    #[doc(hidden)]
    pub fn mismatch(name: String, expected: (LockKind, u32), found: (LockKind, u32)) -> Self {
        match (expected, found) {
            ((LockKind::Semaphore, expected), (LockKind::Semaphore, found)) => {
                Self::PermitsMismatch {
                    name,
                    expected,
                    found,
                }
            }
            ((expected, _), (found, _)) => Self::WrongKind {
                name,
                expected,
                found,
            },
        }
    }

    #[doc(hidden)]
    pub fn invalid(option: &'static str, reason: &'static str) -> Self {
        Self::InvalidOption { option, reason }
    }

    #[doc(hidden)]
    pub fn invalid_name(name: impl Into<String>, reason: &'static str) -> Self {
        let name = name.into();
        Self::InvalidName { name, reason }
    }

    #[doc(hidden)]
    pub fn too_many_permits() -> Self {
        Self::invalid("permits", "more permits asked for than the semaphore has")
    }

    /// Whether a call that holds other locks should release them and wait for this one: because another caller holds
    /// it, the store grants nothing yet, or its grant came too late.
    #[doc(hidden)]
    pub fn may_be_waited_for(&self) -> bool {
        use StoreErrorKind::{NotGrantingYet, TooLate};
        matches!(self, Self::Timeout { .. } | Self::TooManyAttempts { .. })
            || matches!(self, Self::Unavailable { source, .. } if matches!(source.kind(), NotGrantingYet | TooLate))
    }

    /// The holder, if other callers held the lock and the store reported one of them.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Timeout { holder, .. } | Self::TooManyAttempts { holder, .. } => {
                holder.as_deref()
            }
            _ => None,
        }
    }

    /// Whether the error is `Timeout`, `TooManyAttempts` or `Busy`: others hold the lock, and the call has waited as
    /// long as it may. `on_timeout` answers these.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        let waited = matches!(self, Self::Timeout { .. } | Self::TooManyAttempts { .. });
        waited || matches!(self, Self::Busy { .. })
    }

    /// Whether the same call may succeed later without a change to the program, its configuration or the store's.
    ///
    /// | error | transient |
    /// |---|---|
    /// | [`Timeout`](Self::Timeout), [`TooManyAttempts`](Self::TooManyAttempts), [`Busy`](Self::Busy) | yes: other callers held the lock |
    /// | [`InUse`](Self::InUse) | yes: the semaphore has holders or waiters |
    /// | [`NotReplicated`](Self::NotReplicated) | yes: the replicas were late |
    /// | [`Unavailable`](Self::Unavailable) | yes, unless the store rejects the user or a right, or replies with something that isn't its protocol |
    /// | [`Lost`](Self::Lost) | no: the body may have run in part, so only the program knows whether it may run again |
    /// | [`AlreadyHeld`](Self::AlreadyHeld), [`Deadlock`](Self::Deadlock) | no: the task must first release what it holds |
    /// | [`ShutDown`](Self::ShutDown), [`NotSetUp`](Self::NotSetUp), [`Forked`](Self::Forked) | no: no client could
    /// serve the call |
    /// | [`PermitsMismatch`](Self::PermitsMismatch), [`WrongKind`](Self::WrongKind), [`ForeignKey`](Self::ForeignKey) | no: programs disagree about the name |
    /// | [`InvalidName`](Self::InvalidName), [`InvalidOption`](Self::InvalidOption), [`Unsupported`](Self::Unsupported), [`NotProtected`](Self::NotProtected) | no: the call itself is wrong |
    ///
    /// ```
    /// use auto_mutex::LockError;
    ///
    /// fn status(error: &LockError) -> u16 {
    ///     if error.is_transient() { 503 } else { 500 }
    /// }
    /// assert_eq!(status(&LockError::timeout("reports")), 503);
    /// assert_eq!(status(&LockError::NotSetUp), 500);
    /// ```
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::InUse { .. } | Self::NotReplicated { .. } => true,
            Self::Unavailable { source, .. } => source.is_transient(),
            _ => self.is_timeout(),
        }
    }

    /// A text that may be shown to strangers, such as the users of a web service.
    ///
    /// The text of `Display` is for operators. It names the lock, the holder's host, process and file, and the store's
    /// address; and the [`source`](std::error::Error::source) has the server's reply. That belongs in a log. The text
    /// returned here is a constant for each kind of error, without any name, host, address, path, URL or owner.
    ///
    /// ```
    /// use auto_mutex::LockError;
    ///
    /// let error = LockError::unavailable("billing:close");
    /// assert!(error.to_string().contains("billing:close"));
    /// assert_eq!(error.public_message(), "the service cannot take its locks at the moment; try again later");
    /// ```
    #[must_use]
    pub fn public_message(&self) -> &'static str {
        match self {
            Self::Timeout { .. } | Self::TooManyAttempts { .. } | Self::Busy { .. } => {
                "another request is doing this; try again later"
            }
            Self::InUse { .. } => "this is in use; try again later",
            Self::Lost { .. } => "the work was interrupted and may be incomplete",
            Self::NotReplicated { .. } | Self::Unavailable { .. } => {
                "the service cannot take its locks at the moment; try again later"
            }
            Self::AlreadyHeld { .. } | Self::Deadlock { .. } => {
                "this request and other work would wait for each other"
            }
            Self::ShutDown => "the service is shutting down; try again later",
            _ => "the service has an internal error",
        }
    }
}

fn after(waited: Duration) -> String {
    match waited {
        Duration::ZERO => "at once".to_owned(),
        waited => format!("within {:?}", rounded(waited)),
    }
}

fn held_by(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!("; held by {holder}"),
        None => String::new(),
    }
}

fn lost(name: &str, held: Duration, cause: LossCause) -> String {
    match cause {
        LossCause::Released => format!("lock `{name}` is no longer held: {cause}"),
        cause => format!(
            "lock `{name}` lost after {:?}: {cause}; another holder may already use what the lock protects",
            rounded(held)
        ),
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
}
