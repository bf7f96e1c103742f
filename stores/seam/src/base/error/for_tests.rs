//! Makes errors for tests of error handlers, because their variants are `#[non_exhaustive]`.

use std::time::Duration;

use super::{LockError, LossCause, StoreError};

/// # For tests of error handlers
///
/// These functions make the errors that programs handle, with plausible details. Variants without fields, such as
/// [`LockError::ShutDown`], need no function.
///
/// ```
/// use auto_mutex::LockError;
///
/// fn answer(result: Result<u32, LockError>) -> String {
///     match result {
///         Ok(value) => value.to_string(),
///         Err(error) if error.is_timeout() => "busy".to_owned(),
///         Err(error) => error.public_message().to_owned(),
///     }
/// }
/// assert_eq!(answer(Err(LockError::timeout("reports"))), "busy");
/// assert_ne!(answer(Err(LockError::unavailable("reports"))), "busy");
/// ```
impl LockError {
    /// A [`Timeout`](Self::Timeout) after one second, with an unknown holder.
    pub fn timeout(name: impl Into<String>) -> Self {
        Self::timed_out(name.into(), Duration::from_secs(1), None)
    }

    /// [`TooManyAttempts`](Self::TooManyAttempts), after three attempts.
    pub fn too_many_attempts(name: impl Into<String>) -> Self {
        Self::given_up(name.into(), 3, None)
    }

    /// [`Busy`](Self::Busy): a hundred calls wait.
    pub fn busy(name: impl Into<String>) -> Self {
        Self::crowded(name.into(), 100)
    }

    /// [`Lost`](Self::Lost) for this cause, one second after the grant.
    pub fn lost(name: impl Into<String>, cause: LossCause) -> Self {
        Self::lost_after(name.into(), Duration::from_secs(1), cause)
    }

    /// [`AlreadyHeld`](Self::AlreadyHeld).
    pub fn already_held(name: impl Into<String>) -> Self {
        Self::AlreadyHeld { name: name.into() }
    }

    /// The [`Deadlock`](Self::Deadlock) of a task that waits for a lock it holds itself.
    pub fn deadlock(name: impl Into<String>) -> Self {
        Self::waits_for_itself(&name.into())
    }

    /// [`NotReplicated`](Self::NotReplicated): the only replica did not have the grant.
    pub fn not_replicated(name: impl Into<String>) -> Self {
        Self::NotReplicated {
            name: name.into(),
            wanted: 1,
            reached: 0,
        }
    }

    /// [`Unavailable`](Self::Unavailable): there is no connection to the store.
    pub fn unavailable(name: impl Into<String>) -> Self {
        Self::Unavailable {
            name: name.into(),
            server: "127.0.0.1:6379".to_owned(),
            source: StoreError::disconnected("not connected"),
        }
    }

    /// [`InUse`](Self::InUse): the semaphore has one holder.
    pub fn in_use(name: impl Into<String>) -> Self {
        Self::used_by(name.into(), 1, 0)
    }

    /// [`ForeignKey`](Self::ForeignKey).
    pub fn foreign_key(name: impl Into<String>) -> Self {
        Self::ForeignKey { name: name.into() }
    }
}
