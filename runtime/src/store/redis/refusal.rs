//! [`Refusal`]: why a server cannot be used.

use super::error;
use crate::config::Address;
use crate::error::{SetupError, StoreError, StoreErrorKind, TlsError};

/// Why a server cannot be used.
#[derive(Debug)]
pub(super) enum Refusal {
    Unreachable(StoreError),
    Tls(TlsError),
    Loading(StoreError),
    Authentication(StoreError),
    Permission(StoreError),
    Version(String),
    Role(String),
    Cluster,
}

impl Refusal {
    /// What an error in an answer says about the server.
    pub(super) fn of(error: StoreError) -> Self {
        let text = error.to_string();
        if text.starts_with("LOADING") {
            Self::Loading(error)
        } else if text.starts_with("READONLY") || text.starts_with("MASTERDOWN") {
            Self::Role("replica".to_owned())
        } else if text.starts_with("NOPERM") {
            Self::Permission(error)
        } else if error.kind() == StoreErrorKind::Forbidden {
            Self::Authentication(error)
        } else {
            Self::Unreachable(error)
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
            None => Self::of(error::of_socket(error)),
        }
    }

    /// As the error of a set-up at `address`.
    pub(super) fn at(self, address: &Address) -> SetupError {
        let address = address.to_string();
        match self {
            Self::Unreachable(source) | Self::Loading(source) => {
                SetupError::Unreachable { address, source }
            }
            Self::Tls(source) => SetupError::Tls { address, source },
            Self::Authentication(source) => SetupError::Authentication { address, source },
            Self::Permission(source) => SetupError::Permission { address, source },
            Self::Version(found) => SetupError::UnsupportedServer { address, found },
            Self::Role(role) => SetupError::NotPrimary { address, role },
            Self::Cluster => SetupError::UnsupportedStore {
                scheme: "redis-cluster".to_owned(),
                reason: "the server is a node of a Redis Cluster, which is not supported yet; \
                         use a standalone server",
            },
        }
    }
}
