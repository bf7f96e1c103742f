//! `is_transient`: which errors end by themselves, so that trying again later can help.

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
            Self::Timeout { .. }
            | Self::TooManyAttempts { .. }
            | Self::InUse { .. }
            | Self::NotReplicated { .. } => true,
            Self::Unavailable { source, .. } => source.is_transient(),
            Self::Lost { .. }
            | Self::AlreadyHeld { .. }
            | Self::Deadlock { .. }
            | Self::PermitsMismatch { .. }
            | Self::WrongKind { .. }
            | Self::ForeignKey { .. }
            | Self::Unsupported { .. }
            | Self::NotSetUp
            | Self::Forked
            | Self::ShutDown
            | Self::InvalidName { .. }
            | Self::InvalidOption { .. } => false,
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
        match self {
            Self::Unreachable { .. }
            | Self::Credentials { .. }
            | Self::NoSentinel { .. }
            | Self::NoPrimary { .. } => true,
            Self::InvalidUrl { .. }
            | Self::UnsupportedStore { .. }
            | Self::InvalidOption { .. }
            | Self::Environment { .. }
            | Self::AlreadySetUp
            | Self::Tls { .. }
            | Self::Authentication { .. }
            | Self::Permission { .. }
            | Self::UnsupportedServer { .. }
            | Self::NotPrimary { .. }
            | Self::UnknownService { .. }
            | Self::Unsuitable { .. }
            | Self::Engine { .. } => false,
        }
    }
}

impl StoreError {
    fn is_transient(&self) -> bool {
        match self.kind() {
            StoreErrorKind::Disconnected
            | StoreErrorKind::Busy
            | StoreErrorKind::NotGrantingYet
            | StoreErrorKind::Unreplicated { .. }
            // Out of memory, or of disk space: the server may have room again later.
            | StoreErrorKind::Refused => true,
            StoreErrorKind::Forbidden
            | StoreErrorKind::Foreign
            | StoreErrorKind::Protocol
            | StoreErrorKind::Unsupported => false,
        }
    }
}
