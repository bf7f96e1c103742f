//! [`SetupError`]: why a client could not be made.

use std::borrow::Cow;
use std::convert::Infallible;

use thiserror::Error;

use super::{StoreError, TlsError};

/// Why a client could not be made. Every text says what to change, and none shows a password.
///
/// The `source` is the error of the server or the connection. The text does not repeat it, so print the whole chain, as
/// anyhow's `{error:#}` does.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The URL is invalid.
    #[error("invalid store URL: {reason}")]
    #[non_exhaustive]
    InvalidUrl {
        /// What is wrong. Does not repeat the URL, which may contain a password.
        reason: String,
    },

    /// The URL is valid, but this build does not support its store.
    #[error("store `{scheme}://` is not available: {reason}")]
    #[non_exhaustive]
    UnsupportedStore {
        /// The scheme of the URL.
        scheme: String,
        /// What the store needs.
        reason: &'static str,
    },

    /// The value of an option is invalid.
    #[error("invalid `{option}`: {reason}")]
    #[non_exhaustive]
    InvalidOption {
        /// The option of `Config`.
        option: &'static str,
        /// What is wrong with its value.
        reason: Cow<'static, str>,
    },

    /// An environment variable is missing or unusable.
    #[error("environment variable {variable}: {reason}")]
    #[non_exhaustive]
    Environment {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// `setup` was already called; the client of the first call stays in force.
    #[error("auto_mutex::setup was already called: call it once, at the top of main")]
    AlreadySetUp,

    /// The server cannot be reached or refuses to serve. In the latter case, the `source` has a code.
    #[error("{} {address}", reached(.source))]
    #[non_exhaustive]
    Unreachable {
        /// The server, without credentials.
        address: String,
        /// The error of the connection.
        source: StoreError,
    },

    /// The server was reached, but the TLS connection fails or is required.
    #[error("no TLS connection to the lock store at {address}")]
    #[non_exhaustive]
    Tls {
        /// The server, without credentials.
        address: String,
        /// What is wrong, and what to do about it.
        source: TlsError,
    },

    /// The server does not accept the user or the password.
    #[error("the lock store at {address} refused the credentials")]
    #[non_exhaustive]
    Authentication {
        /// The server, without credentials.
        address: String,
        /// The server's error.
        source: StoreError,
    },

    /// The provider of [`Config::credentials`](crate::Config::credentials) failed, panicked, or took too long.
    #[error("no credentials for the lock store at {address}")]
    #[non_exhaustive]
    Credentials {
        /// The server, without credentials.
        address: String,
        /// The error of the provider.
        source: StoreError,
    },

    /// The user lacks the right to run a command that the locks need.
    #[error(
        "the user of the lock store at {address} lacks a right (for Redis, `auto-mutex acl` prints the rule that it needs)"
    )]
    #[non_exhaustive]
    Permission {
        /// The server, without credentials.
        address: String,
        /// The server's error.
        source: StoreError,
    },

    /// The server is too old, or is not a Redis.
    #[error("the lock store at {address} is version {found}; Redis 6.2 or newer is needed")]
    #[non_exhaustive]
    UnsupportedServer {
        /// The server, without credentials.
        address: String,
        /// The version it reports.
        found: String,
    },

    /// The server refuses a command that locks need, regardless of the user's rights. The command may be renamed or
    /// disabled, or the server may be a proxy or another product.
    #[error("the lock store at {address} cannot serve locks: {reason}")]
    #[non_exhaustive]
    Unsuitable {
        /// The server, without credentials.
        address: String,
        /// The refused command or setting, and the remedy.
        reason: Cow<'static, str>,
        /// The error of the server.
        source: StoreError,
    },

    /// The server is a replica: locks must be taken on the primary.
    #[error("the lock store at {address} is a {role}, not a primary: connect to the primary")]
    #[non_exhaustive]
    NotPrimary {
        /// The server, without credentials.
        address: String,
        /// The role that the server reports.
        role: String,
    },

    /// None of the sentinels answers.
    #[error("no sentinel answers at {address}")]
    #[non_exhaustive]
    NoSentinel {
        /// The sentinels of the URL.
        address: String,
        /// The error of the last sentinel, or of the connection to it.
        source: StoreError,
    },

    /// The sentinels do not monitor a service of this name.
    #[error(
        "the sentinels at {address} know no service `{service}`: compare it with `sentinel monitor` in their configuration"
    )]
    #[non_exhaustive]
    UnknownService {
        /// The name in the URL.
        service: String,
        /// The sentinels of the URL.
        address: String,
    },

    /// For all of `connect_timeout`, the sentinels' primary could not be reached or was not a primary.
    #[error("service `{service}` has no primary at present")]
    #[non_exhaustive]
    NoPrimary {
        /// The name in the URL.
        service: String,
        /// The error of the service's server, or of the connection to that server.
        source: StoreError,
    },

    /// The background thread could not be started.
    #[error("cannot start the background thread: {reason}")]
    #[non_exhaustive]
    BackgroundThread {
        /// The system's error.
        reason: String,
    },
}

impl SetupError {
    /// Whether the same set-up may succeed later without a change to the program, its configuration or the store's.
    ///
    /// | error | transient |
    /// |---|---|
    /// | [`Unreachable`](Self::Unreachable), [`NoSentinel`](Self::NoSentinel), [`NoPrimary`](Self::NoPrimary) | yes: a server is down, starting, or failing over |
    /// | [`Credentials`](Self::Credentials) | yes: the provider of the credentials failed |
    /// | [`Authentication`](Self::Authentication), [`Permission`](Self::Permission), [`Tls`](Self::Tls) | no: the server rejects the client, or the client the server |
    /// | [`UnsupportedServer`](Self::UnsupportedServer), [`Unsuitable`](Self::Unsuitable), [`NotPrimary`](Self::NotPrimary), [`UnknownService`](Self::UnknownService) | no: it isn't the right server |
    /// | [`InvalidUrl`](Self::InvalidUrl), [`UnsupportedStore`](Self::UnsupportedStore), [`InvalidOption`](Self::InvalidOption), [`Environment`](Self::Environment) | no: the configuration is wrong |
    /// | [`AlreadySetUp`](Self::AlreadySetUp), [`BackgroundThread`](Self::BackgroundThread) | no |
    ///
    /// With [`Config::connect_lazily`](crate::Config::connect_lazily), a client handles transient errors itself.
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

/// For engines, because other crates cannot construct a variant that is `#[non_exhaustive]`.
#[doc(hidden)]
impl SetupError {
    pub fn invalid(option: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        let reason = reason.into();
        Self::InvalidOption { option, reason }
    }

    pub fn background_thread(reason: impl ToString) -> Self {
        Self::BackgroundThread {
            reason: reason.to_string(),
        }
    }

    pub fn unsupported(scheme: impl Into<String>, reason: &'static str) -> Self {
        let scheme = scheme.into();
        Self::UnsupportedStore { scheme, reason }
    }
}

impl From<Infallible> for SetupError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// If the server answered with a code, it was reached.
fn reached(source: &StoreError) -> &'static str {
    match source.code() {
        Some(_) => "set-up is refused by the lock store at",
        None => "cannot reach the lock store at",
    }
}
