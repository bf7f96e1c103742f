//! [`ConnectError`]: why a server cannot be used.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::{SetupError, StoreError, TlsError};

/// What a failure means for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The server cannot be reached.
    Unreachable,
    /// The server, or a proxy before it, is slow or temporarily unusable.
    Busy,
    /// The server did not answer in time. The next attempt waits twice as long, because a slow server has to start
    /// over.
    Silent,
    /// A person has to fix something, such as a wrong password.
    Refused,
}

/// Why an attempt to connect failed. [`at`](Self::at) makes it an error for the program.
#[derive(Debug)]
pub enum ConnectError {
    /// The server can't be used now: unreachable, silent, or busy.
    Unreachable(Trouble, StoreError),
    /// No TLS connection.
    Tls(TlsError),
    /// The server refuses the credentials.
    Authentication(StoreError),
    /// The program's provider has no credentials.
    Credentials(StoreError),
    /// The user lacks a right.
    Permission(StoreError),
    /// The server is too old. Contains its version.
    Version(String),
    /// The server cannot serve locks, regardless of the user's rights. Contains the remedy.
    Unsuitable(Cow<'static, str>, StoreError),
    /// The server has this role instead of being a primary.
    Role(String),
    /// The URL's scheme doesn't fit: nodes of a cluster need `redis-cluster`, and only they do. Contains the remedy.
    Scheme(&'static str, &'static str),
    /// No sentinel answers.
    NoSentinel(Trouble, StoreError),
    /// The sentinels don't know this service.
    UnknownService(String),
    /// This service has no primary.
    NoPrimary(String, StoreError),
    /// The error of a server other than the one that was asked for.
    At(String, Box<Self>),
}

impl ConnectError {
    /// The server cannot be reached.
    pub fn unreachable(message: impl Into<Arc<str>>) -> Self {
        Self::Unreachable(Trouble::Unreachable, StoreError::disconnected(message))
    }

    /// The whole attempt took longer than `limit`.
    pub fn too_late(limit: Duration) -> Self {
        let text =
            format!("not connected within {limit:?}: the server is silent, or the link is slow");
        Self::Unreachable(Trouble::Silent, StoreError::disconnected(text))
    }

    /// The error of the program's provider of credentials, if that is the reason.
    pub fn of_provider(&self) -> Option<&StoreError> {
        match self {
            Self::At(_, error) => error.of_provider(),
            Self::Credentials(source) => Some(source),
            _ => None,
        }
    }

    /// Whether a person has to fix something: server settings, the program's credentials or its provider.
    pub fn needs_a_person(&self) -> bool {
        self.trouble() == Trouble::Refused || self.of_provider().is_some()
    }

    /// What the failure means for the next attempt.
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::At(_, error) => error.trouble(),
            Self::Unreachable(trouble, _) => *trouble,
            Self::Credentials(_) => Trouble::Busy,
            Self::Role(_)
            | Self::NoSentinel(..)
            | Self::UnknownService(_)
            | Self::NoPrimary(..) => Trouble::Unreachable,
            _ => Trouble::Refused,
        }
    }

    /// The error for the program. `address` is the server that was asked for.
    pub fn at(self, address: &str) -> SetupError {
        let address = address.to_owned();
        match self {
            Self::At(place, error) => error.at(&place),
            Self::NoSentinel(_, source) => SetupError::NoSentinel { address, source },
            Self::UnknownService(service) => SetupError::UnknownService { service, address },
            Self::NoPrimary(service, source) => SetupError::NoPrimary { service, source },
            Self::Unreachable(_, source) => SetupError::Unreachable { address, source },
            Self::Tls(source) => SetupError::Tls { address, source },
            Self::Authentication(source) => SetupError::Authentication { address, source },
            Self::Credentials(source) => SetupError::Credentials { address, source },
            Self::Permission(source) => SetupError::Permission { address, source },
            Self::Version(found) => SetupError::UnsupportedServer { address, found },
            Self::Unsuitable(reason, source) => SetupError::Unsuitable {
                address,
                reason,
                source,
            },
            Self::Role(role) => SetupError::NotPrimary { address, role },
            Self::Scheme(scheme, reason) => SetupError::unsupported(scheme, reason),
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        if let Some(error) = TlsError::of_io(&error) {
            return Self::Tls(error.clone());
        }
        let trouble = match error.kind() {
            io::ErrorKind::TimedOut => Trouble::Silent,
            _ => Trouble::Unreachable,
        };
        Self::Unreachable(trouble, StoreError::disconnected(error.to_string()))
    }
}
