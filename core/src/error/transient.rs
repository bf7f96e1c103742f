//! `is_transient`: which errors end by themselves.

use super::{LockError, SetupError, StoreError, StoreErrorKind};

impl LockError {
    /// Whether the same call may succeed later, although nobody changes the program, its configuration or the store's.
    ///
    /// | error | transient |
    /// |---|---|
    /// | [`Timeout`](Self::Timeout), [`TooManyAttempts`](Self::TooManyAttempts) | yes: other callers held the lock |
    /// | [`InUse`](Self::InUse) | yes: the semaphore has holders or waiters |
    /// | [`NotReplicated`](Self::NotReplicated) | yes: the replicas were late |
    /// | [`Unavailable`](Self::Unavailable) | yes, unless the store rejects the user or a right, or replies with something that isn't its protocol |
    /// | [`Lost`](Self::Lost) | no: the body may have run in part, so only the program knows whether it may run again |
    /// | [`AlreadyHeld`](Self::AlreadyHeld), [`Deadlock`](Self::Deadlock) | no: the task must first release what it holds |
    /// | [`ShutDown`](Self::ShutDown), [`NotSetUp`](Self::NotSetUp), [`Forked`](Self::Forked) | no: there is no client that could serve the call |
    /// | [`PermitsMismatch`](Self::PermitsMismatch), [`WrongKind`](Self::WrongKind), [`ForeignKey`](Self::ForeignKey) | no: programs disagree about the name |
    /// | [`InvalidName`](Self::InvalidName), [`InvalidOption`](Self::InvalidOption), [`Unsupported`](Self::Unsupported) | no: the call itself is wrong |
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
}

impl SetupError {
    /// Whether the same set-up may succeed later, although nobody changes the program, its configuration or the store's.
    ///
    /// | error | transient |
    /// |---|---|
    /// | [`Unreachable`](Self::Unreachable), [`NoSentinel`](Self::NoSentinel), [`NoPrimary`](Self::NoPrimary) | yes: a server is down, starting, or failing over |
    /// | [`Credentials`](Self::Credentials) | yes: the provider of the credentials failed |
    /// | [`Authentication`](Self::Authentication), [`Permission`](Self::Permission), [`Tls`](Self::Tls) | no: the server rejects the client, or the client the server |
    /// | [`UnsupportedServer`](Self::UnsupportedServer), [`Unsuitable`](Self::Unsuitable), [`NotPrimary`](Self::NotPrimary), [`UnknownService`](Self::UnknownService) | no: it isn't the right server |
    /// | [`InvalidUrl`](Self::InvalidUrl), [`UnsupportedStore`](Self::UnsupportedStore), [`InvalidOption`](Self::InvalidOption), [`Environment`](Self::Environment) | no: the configuration is wrong |
    /// | [`AlreadySetUp`](Self::AlreadySetUp), [`Engine`](Self::Engine) | no |
    ///
    /// With [`Config::connect_lazily`](crate::Config::connect_lazily), a client deals with transient errors itself.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Credentials { .. }
                | Self::NoSentinel { .. }
                | Self::NoPrimary { .. }
        )
    }
}

impl StoreError {
    fn is_transient(&self) -> bool {
        // `Refused` (out of memory, or of disk space) is transient: the server may have room again later.
        !matches!(
            self.kind(),
            StoreErrorKind::Forbidden
                | StoreErrorKind::Foreign
                | StoreErrorKind::Protocol
                | StoreErrorKind::Unsupported
        )
    }
}
