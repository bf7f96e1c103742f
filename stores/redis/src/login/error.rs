//! [`ConnectError`]: why a server cannot be used.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use auto_mutex_core::store::{StoreErrorKind, Trouble};
use auto_mutex_core::{SetupError, StoreError, TlsError};

use super::unsuitable;
use crate::error::{self, Code};
use crate::script::reply;
use crate::wire::Value;

#[derive(Debug)]
pub(crate) enum ConnectError {
    /// It can't be used now: out of reach, silent, or busy.
    Unreachable(Trouble, StoreError),
    Tls(TlsError),
    Authentication(StoreError),
    Credentials(StoreError),
    Permission(StoreError),
    Version(String),
    /// The server cannot serve locks, whatever the rights of the user. Contains the remedy.
    Unsuitable(Cow<'static, str>, StoreError),
    Role(String),
    /// The URL's scheme doesn't fit: a node of a cluster needs `redis-cluster`, no other server does. Contains the remedy.
    Scheme(&'static str, &'static str),
    NoSentinel(Trouble, StoreError),
    UnknownService(String),
    NoPrimary(String, StoreError),
    At(String, Box<ConnectError>),
}

pub(crate) fn accept(reply: Value<'_>) -> Result<Value<'_>, ConnectError> {
    accepted(&reply).map_err(ConnectError::of)?;
    Ok(reply)
}

pub(crate) fn accepted(reply: &Value<'_>) -> Result<(), StoreError> {
    match reply {
        Value::Error(error) => Err(error::of_server(error)),
        _ => Ok(()),
    }
}

impl ConnectError {
    pub(crate) fn of(error: StoreError) -> Self {
        match Code::of_error(&error) {
            // NOSCRIPT: another client flushed the scripts during the set-up.
            Code::Loading
            | Code::ClusterDown
            | Code::TryAgain
            | Code::NoReplicas
            | Code::NoScript => Self::Unreachable(Trouble::Busy, error),
            Code::ReadOnly | Code::MasterDown => Self::Role("replica".to_owned()),
            Code::NoPerm => Self::Permission(error),
            _ if error.kind() == StoreErrorKind::Forbidden => Self::Authentication(error),
            _ => match unsuitable::advice(&error) {
                Some(advice) => Self::Unsuitable(advice.into(), error),
                None => Self::Unreachable(Trouble::Unreachable, error),
            },
        }
    }

    pub(crate) fn unreachable(message: impl Into<Arc<str>>) -> Self {
        Self::Unreachable(Trouble::Unreachable, StoreError::disconnected(message))
    }

    pub(crate) fn nonsense() -> Self {
        Self::Unreachable(Trouble::Unreachable, reply::nonsense())
    }

    pub(crate) fn of_provider(&self) -> Option<&StoreError> {
        match self {
            Self::At(_, error) => error.of_provider(),
            Self::Credentials(source) => Some(source),
            _ => None,
        }
    }

    pub(crate) fn trouble(&self) -> Trouble {
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

    pub(crate) fn at(self, place: &str) -> SetupError {
        let address = place.to_owned();
        match self {
            Self::At(place, error) => error.at(&place),
            Self::NoSentinel(_, source) => SetupError::no_sentinel(address, source),
            Self::UnknownService(service) => SetupError::unknown_service(service, address),
            Self::NoPrimary(service, source) => SetupError::no_primary(service, source),
            Self::Unreachable(_, source) => SetupError::unreachable(address, source),
            Self::Tls(source) => SetupError::tls(address, source),
            Self::Authentication(source) => SetupError::authentication(address, source),
            Self::Credentials(source) => SetupError::credentials(address, source),
            Self::Permission(source) => SetupError::permission(address, source),
            Self::Version(found) => SetupError::version(address, found),
            Self::Unsuitable(reason, source) => SetupError::unsuitable(address, reason, source),
            Self::Role(role) => SetupError::not_primary(address, role),
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
        Self::Unreachable(trouble, error::of_socket(&error))
    }
}
