//! [`ConnectError`]: why a server cannot be used.

use std::io;

use super::super::error;
use crate::error::{SetupError, StoreError, StoreErrorKind, TlsError};
use crate::wire::Value;

/// Why a server cannot be used.
#[derive(Debug)]
pub(in super::super) enum ConnectError {
    Unreachable(StoreError),
    Tls(TlsError),
    /// The server did not answer in time.
    Silent(StoreError),
    /// It passes by itself: the server loads its data, its cluster elects a primary, its replicas are missing.
    Passing(StoreError),
    Authentication(StoreError),
    Permission(StoreError),
    Version(String),
    Role(String),
    /// A node of a cluster, where a single server is expected.
    Cluster,
    /// A single server, where a node of a cluster is expected.
    NoCluster,
    /// No sentinel can be asked.
    NoSentinel(StoreError),
    /// No sentinel has answered in time; one may yet.
    SilentSentinels(StoreError),
    /// No sentinel that answers knows this service.
    UnknownService(String),
    /// The server that the sentinels name as the primary of this service is none.
    NoPrimary(String, StoreError),
    /// The error of another server, at this place.
    At(String, Box<ConnectError>),
}

/// The reply, unless it is an error.
pub(in super::super) fn accept(reply: Value<'_>) -> Result<Value<'_>, ConnectError> {
    match reply {
        Value::Error(error) => Err(ConnectError::of(error::of_server(&error))),
        reply => Ok(reply),
    }
}

impl ConnectError {
    /// What an error in a reply says about the server.
    pub(in super::super) fn of(error: StoreError) -> Self {
        match error.code() {
            // NOSCRIPT: the scripts were flushed between two questions of the set-up.
            Some("LOADING" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS" | "NOSCRIPT") => {
                Self::Passing(error)
            }
            Some("READONLY" | "MASTERDOWN") => Self::Role("replica".to_owned()),
            Some("NOPERM") => Self::Permission(error),
            _ if error.kind() == StoreErrorKind::Forbidden => Self::Authentication(error),
            _ => Self::Unreachable(error),
        }
    }

    /// The server's reply is not one of our scripts'.
    pub(in super::super) fn nonsense() -> Self {
        Self::Unreachable(StoreError::new(
            StoreErrorKind::Protocol,
            "the server's reply is not one of this library's scripts",
        ))
    }

    /// As the error of a set-up at `place`.
    pub(in super::super) fn at(self, place: &str) -> SetupError {
        let address = place.to_owned();
        match self {
            Self::At(place, error) => error.at(&place),
            Self::NoSentinel(source) | Self::SilentSentinels(source) => {
                SetupError::NoSentinel { address, source }
            }
            Self::UnknownService(service) => SetupError::UnknownService { service, address },
            Self::NoPrimary(service, source) => SetupError::NoPrimary { service, source },
            Self::Unreachable(source) | Self::Silent(source) | Self::Passing(source) => {
                SetupError::Unreachable { address, source }
            }
            Self::Tls(source) => SetupError::Tls { address, source },
            Self::Authentication(source) => SetupError::Authentication { address, source },
            Self::Permission(source) => SetupError::Permission { address, source },
            Self::Version(found) => SetupError::UnsupportedServer { address, found },
            Self::Role(role) => SetupError::NotPrimary { address, role },
            Self::Cluster => SetupError::UnsupportedStore {
                scheme: "redis".to_owned(),
                reason: "the server is a node of a Redis Cluster: use `redis-cluster://`",
            },
            Self::NoCluster => SetupError::UnsupportedStore {
                scheme: "redis-cluster".to_owned(),
                reason: "the server is not a node of a Redis Cluster: use `redis://`",
            },
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref();
        match inner.and_then(|inner| inner.downcast_ref::<TlsError>()) {
            Some(error) => Self::Tls(error.clone()),
            None if error.kind() == io::ErrorKind::TimedOut => {
                Self::Silent(error::of_socket(&error))
            }
            None => Self::Unreachable(error::of_socket(&error)),
        }
    }
}
