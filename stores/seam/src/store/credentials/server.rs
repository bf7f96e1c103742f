//! [`ServerAddress`]: which server a connection goes to.

use std::fmt;

use crate::base::address::Address;

/// The server that a connection goes to: the argument of a [`CredentialsProvider`](super::CredentialsProvider).
///
/// Its `Display` output is also used in errors and logs: `host:port`, or the path of a socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    pub(super) address: Address,
    pub(super) kind: ServerKind,
}

/// The role of a server in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerKind {
    /// The server of `redis://`, or the primary reported by sentinels.
    Server,
    /// A sentinel, which has its own users and passwords.
    Sentinel,
    /// A node of a cluster.
    ClusterNode,
    /// A server of a quorum.
    QuorumMember,
}

impl ServerAddress {
    /// The host in the URL, or the host that a sentinel or a node of the cluster announces. For a Unix socket, the
    /// path.
    #[must_use]
    pub fn host(&self) -> &str {
        match &self.address {
            Address::Tcp { host, .. } => host,
            Address::Unix(path) => path.to_str().unwrap_or_default(),
        }
    }

    /// The port; `None` for a Unix socket.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self.address {
            Address::Tcp { port, .. } => Some(port),
            Address::Unix(_) => None,
        }
    }

    /// The role of the server in the store. Sentinels may need other credentials.
    #[must_use]
    pub fn kind(&self) -> ServerKind {
        self.kind
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}
