//! [`Endpoint`]: where the store is, as a URL says it, with the credentials kept apart.

use std::fmt;
use std::path::PathBuf;

use super::secret::Secret;

/// Where the locks live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// In this process; `shared` by all clients that give the same name.
    Memory {
        shared: Option<String>,
    },
    Redis(RedisEndpoint),
}

/// One Redis server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisEndpoint {
    pub(crate) address: Address,
    /// `None`: the default user.
    pub(crate) user: Option<Secret>,
    pub(crate) password: Option<Secret>,
    pub(crate) db: u32,
}

/// How a server is reached. Its Display is what errors and logs show: never credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
