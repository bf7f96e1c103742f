//! [`Endpoint`]: where the store is and how to log in there, as a URL says it.

use std::fmt;
use std::path::PathBuf;

use super::secret::Secret;

/// Where the locks live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// In this process; `shared` by all clients with the same name.
    Memory {
        shared: Option<String>,
    },
    Redis(RedisEndpoint),
    Sentinel(SentinelEndpoint),
    Cluster(ClusterEndpoint),
    /// Independent servers, of which a majority decides.
    Quorum(Vec<RedisEndpoint>),
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

/// The primary of a service that sentinels monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentinelEndpoint {
    pub(crate) sentinels: Vec<Address>,
    /// For the sentinels, which have users and passwords of their own.
    pub(crate) login: Login,
    pub(crate) service: String,
    /// For the servers. TLS applies to the sentinels too.
    pub(crate) access: Access,
}

/// A Redis Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterEndpoint {
    /// Some of the nodes: they know the others.
    pub(crate) nodes: Vec<Address>,
    pub(crate) access: Access,
}

/// How a server is talked to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) login: Login,
    pub(crate) db: u32,
    /// `None`: plain TCP.
    pub(crate) tls: Option<Tls>,
}

/// A user and password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// `None`: the default user.
    pub(crate) user: Option<Secret>,
    /// `None`: no AUTH at all.
    pub(crate) password: Option<Secret>,
}

/// Which certificates to trust, and which one to present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The file of trusted certificates; `None`: the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The files of the client certificate and its key.
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
    /// How each of its servers is talked to.
    fn accesses(&self) -> Vec<&Access> {
        match self {
            Self::Memory { .. } => Vec::new(),
            Self::Redis(server) => vec![&server.access],
            Self::Sentinel(service) => vec![&service.access],
            Self::Cluster(cluster) => vec![&cluster.access],
            Self::Quorum(nodes) => nodes.iter().map(|node| &node.access).collect(),
        }
    }

    /// Its servers, for errors: as in its URL, without credentials.
    pub(crate) fn servers(&self) -> String {
        let listed = |addresses: &mut dyn Iterator<Item = &Address>| {
            let addresses: Vec<_> = addresses.map(Address::to_string).collect();
            addresses.join(",")
        };
        match self {
            Self::Memory { .. } => "memory://".to_owned(),
            Self::Redis(server) => server.address.to_string(),
            Self::Sentinel(sentinel) => format!(
                "{}/{}",
                listed(&mut sentinel.sentinels.iter()),
                sentinel.service
            ),
            Self::Cluster(cluster) => listed(&mut cluster.nodes.iter()),
            Self::Quorum(nodes) => listed(&mut nodes.iter().map(|node| &node.address)),
        }
    }

    /// A database that is not 0, if a server uses one; otherwise 0.
    pub(crate) fn db(&self) -> u32 {
        let databases = self.accesses().into_iter().map(|access| access.db);
        databases.max().unwrap_or(0)
    }

    /// The TLS options, if servers are talked to by TLS.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        let mut accesses = self.accesses().into_iter();
        accesses.find_map(|access| access.tls.as_ref())
    }
}

impl Login {
    /// A user without a password logs in with an empty password, which suits a `nopass` user.
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
