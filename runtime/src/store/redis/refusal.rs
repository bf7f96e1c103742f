//! [`Refusal`]: why a server cannot be used.

use super::error;
use crate::error::{SetupError, StoreError, StoreErrorKind, TlsError};

/// Why a server cannot be used.
#[derive(Debug)]
pub(super) enum Refusal {
    Unreachable(StoreError),
    Tls(TlsError),
    /// It has said nothing for too long.
    Silent(StoreError),
    /// It will do in a moment: it loads its data, chooses a primary, waits for its replicas.
    Passing(StoreError),
    Authentication(StoreError),
    Permission(StoreError),
    Version(String),
    Role(String),
    /// A node of a cluster, where a server on its own was expected.
    Cluster,
    /// No sentinel can be asked.
    NoSentinel(StoreError),
    /// No sentinel has answered in time; one may yet.
    SilentSentinels(StoreError),
    /// No sentinel that answers knows this service.
    UnknownService(String),
    /// What the sentinels say is the primary of this service is none.
    NoPrimary(String, StoreError),
    /// Another server, at this place, is meant.
    At(String, Box<Refusal>),
    /// The other way round.
    NoCluster,
}

impl Refusal {
    /// What an error in an answer says about the server.
    pub(super) fn of(error: StoreError) -> Self {
        match error.code() {
            // A cluster that is choosing a new primary, or moving the slot, is there in a moment, and so are replicas, and so is
            // a script that was lost between two words.
            Some("LOADING" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS" | "NOSCRIPT") => {
                Self::Passing(error)
            }
            Some("READONLY" | "MASTERDOWN") => Self::Role("replica".to_owned()),
            Some("NOPERM") => Self::Permission(error),
            _ if error.kind() == StoreErrorKind::Forbidden => Self::Authentication(error),
            _ => Self::Unreachable(error),
        }
    }

    /// The server answers what no script of ours does.
    pub(super) fn nonsense() -> Self {
        Self::Unreachable(StoreError::new(
            StoreErrorKind::Protocol,
            "the server's reply is not one of this library's scripts",
        ))
    }

    pub(super) fn of_socket(error: &std::io::Error) -> Self {
        let inner = error.get_ref();
        match inner.and_then(|inner| inner.downcast_ref::<TlsError>()) {
            Some(error) => Self::Tls(error.clone()),
            None if error.kind() == std::io::ErrorKind::TimedOut => {
                Self::Silent(error::of_socket(error))
            }
            None => Self::of(error::of_socket(error)),
        }
    }

    /// As the error of a set-up at `place`.
    pub(super) fn at(self, place: &str) -> SetupError {
        let address = place.to_owned();
        match self {
            Self::At(place, refusal) => refusal.at(&place),
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
