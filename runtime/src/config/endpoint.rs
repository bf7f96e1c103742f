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
    Sentinel(SentinelEndpoint),
    Cluster(ClusterEndpoint),
    Quorum(QuorumEndpoint),
}

impl Endpoint {
    /// How its URL begins.
    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::Redis(_) => "redis",
            Self::Sentinel(_) => "redis-sentinel",
            Self::Cluster(_) => "redis-cluster",
            Self::Quorum(_) => "redlock",
        }
    }
}

/// One Redis server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisEndpoint {
    pub(crate) address: Address,
    pub(crate) access: Access,
}

/// The primary of a service that sentinels watch over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentinelEndpoint {
    pub(crate) sentinels: Vec<Address>,
    /// For the sentinels, which have users and passwords of their own.
    pub(crate) login: Login,
    pub(crate) service: String,
    /// For the servers. TLS is for the sentinels too.
    pub(crate) access: Access,
}

/// A Redis Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterEndpoint {
    /// Some of its nodes: they know the others.
    pub(crate) nodes: Vec<Address>,
    pub(crate) access: Access,
}

/// Independent servers, of which a majority decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuorumEndpoint {
    pub(crate) nodes: Vec<RedisEndpoint>,
}

/// How a server is talked to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) login: Login,
    pub(crate) db: u32,
    /// `None`: in the clear.
    pub(crate) tls: Option<Tls>,
}

/// Who logs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// `None`: the default user.
    pub(crate) user: Option<Secret>,
    /// `None`: no login at all.
    pub(crate) password: Option<Secret>,
}

/// Whom to trust, and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The file of the certificates to trust; `None`: the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The files of our own certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must have; `None`: that of the address.
    pub(crate) server_name: Option<String>,
}

/// How a server is reached. Its Display is what errors and logs show: never credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl Endpoint {
    /// The database; 0 only if it is on all servers.
    pub(crate) fn db(&self) -> u32 {
        match self {
            Self::Memory { .. } | Self::Cluster(_) => 0,
            Self::Redis(server) => server.access.db,
            Self::Sentinel(service) => service.access.db,
            Self::Quorum(quorum) => {
                let databases = quorum.nodes.iter().map(|node| node.access.db);
                databases.max().unwrap_or(0)
            }
        }
    }

    /// What is said about TLS.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        match self {
            Self::Memory { .. } => None,
            Self::Redis(server) => server.access.tls.as_ref(),
            Self::Sentinel(service) => service.access.tls.as_ref(),
            Self::Cluster(cluster) => cluster.access.tls.as_ref(),
            Self::Quorum(quorum) => quorum
                .nodes
                .iter()
                .find_map(|node| node.access.tls.as_ref()),
        }
    }
}

impl Login {
    /// A user without a password logs in with an empty one, which suits a `nopass` user.
    pub(super) fn new(user: Option<Secret>, password: Option<Secret>) -> Self {
        let empty = || user.as_ref().map(|_| Secret::new(""));
        Self {
            password: password.or_else(empty),
            user,
        }
    }
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
