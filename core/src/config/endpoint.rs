//! [`Endpoint`]: the addresses and logins of the store, from a URL. Also makes the errors that name the store.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::dialer::Dialer;
use super::secret::Secret;
use crate::credentials::{Given, Granted, ServerKind, Source, Terms};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::name::Name;

/// Where the locks live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// In this process. All clients with the same name in `shared` use one store; `None`: a store of one client.
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
    /// The scheme that names this kind of store.
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
    /// The login for the sentinels, which have users and passwords of their own.
    pub(crate) login: Login,
    pub(crate) service: String,
    /// The options for the servers. The transport (TLS, dialer) is also used for the sentinels.
    pub(crate) access: Access,
}

/// A Redis Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterEndpoint {
    /// Some of the nodes. The client learns the addresses of the other nodes from these.
    pub(crate) nodes: Vec<Address>,
    pub(crate) access: Access,
}

/// The options of the connection to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) login: Login,
    pub(crate) db: u32,
    pub(crate) transport: Transport,
}

/// How a connection is made, without its login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transport {
    /// `None`: plain TCP.
    pub(crate) tls: Option<Tls>,
    /// `None`: the library connects by itself.
    pub(crate) dialer: Option<Dialer>,
}

/// A user and password, or the provider that returns them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// `None`: the default user.
    pub(crate) user: Option<Secret>,
    /// `None`: no AUTH at all.
    pub(crate) password: Option<Secret>,
    /// The provider, which is called for each connection. With a provider, `user` and `password` are `None`.
    pub(crate) source: Option<Source>,
}

/// The certificates that the client trusts, and the certificate that it presents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The file of trusted certificates; `None`: the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The files of the client certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must have; `None`: the host of the address.
    pub(crate) server_name: Option<String>,
}

/// The address of a server. Its Display, as errors and logs show it, never contains credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl Endpoint {
    /// The options of the connections to the store's servers.
    fn accesses(&self) -> Vec<&Access> {
        match self {
            Self::Memory { .. } => Vec::new(),
            Self::Redis(server) => vec![&server.access],
            Self::Sentinel(service) => vec![&service.access],
            Self::Cluster(cluster) => vec![&cluster.access],
            Self::Quorum(nodes) => nodes.iter().map(|node| &node.access).collect(),
        }
    }

    fn accesses_mut(&mut self) -> Vec<&mut Access> {
        match self {
            Self::Memory { .. } => Vec::new(),
            Self::Redis(server) => vec![&mut server.access],
            Self::Sentinel(service) => vec![&mut service.access],
            Self::Cluster(cluster) => vec![&mut cluster.access],
            Self::Quorum(nodes) => nodes.iter_mut().map(|node| &mut node.access).collect(),
        }
    }

    /// Whether clients of this process with these two endpoints share a store, as far as the addresses show this.
    pub(crate) fn is_same_store(&self, other: &Self) -> bool {
        let is_same = |one: &RedisEndpoint, other: &RedisEndpoint| {
            one.address == other.address && one.access.db == other.access.db
        };
        let meet = |one: &[Address], other: &[Address]| one.iter().any(|one| other.contains(one));
        match (self, other) {
            // Without a name, each client has a store of its own.
            (Self::Memory { shared: one }, Self::Memory { shared: other }) => {
                one.is_some() && one == other
            }
            (Self::Redis(one), Self::Redis(other)) => is_same(one, other),
            (Self::Sentinel(one), Self::Sentinel(other)) => {
                one.service == other.service
                    && one.access.db == other.access.db
                    && meet(&one.sentinels, &other.sentinels)
            }
            (Self::Cluster(one), Self::Cluster(other)) => meet(&one.nodes, &other.nodes),
            (Self::Quorum(one), Self::Quorum(other)) => {
                let known = |one: &RedisEndpoint| other.iter().any(|other| is_same(one, other));
                one.len() == other.len() && one.iter().all(known)
            }
            _ => false,
        }
    }

    /// Uses `dialer` for all connections by TCP.
    pub(super) fn set_dialer(&mut self, dialer: &Dialer) {
        for access in self.accesses_mut() {
            access.transport.dialer = Some(dialer.clone());
        }
    }

    /// Whether any server is reached by TCP.
    pub(super) fn has_tcp(&self) -> bool {
        let is_tcp = |server: &RedisEndpoint| matches!(server.address, Address::Tcp { .. });
        match self {
            Self::Memory { .. } => false,
            Self::Redis(server) => is_tcp(server),
            Self::Quorum(nodes) => nodes.iter().any(is_tcp),
            Self::Sentinel(_) | Self::Cluster(_) => true,
        }
    }

    /// How to log in at each of the store's servers, and the roles of these servers.
    fn logins(&mut self) -> Vec<(&mut Login, ServerKind)> {
        match self {
            Self::Memory { .. } => Vec::new(),
            Self::Redis(server) => vec![(&mut server.access.login, ServerKind::Server)],
            Self::Sentinel(service) => vec![
                (&mut service.access.login, ServerKind::Server),
                (&mut service.login, ServerKind::Sentinel),
            ],
            Self::Cluster(cluster) => vec![(&mut cluster.access.login, ServerKind::ClusterNode)],
            Self::Quorum(nodes) => {
                let logins = nodes.iter_mut().map(|node| &mut node.access.login);
                logins.map(|it| (it, ServerKind::QuorumMember)).collect()
            }
        }
    }

    /// Takes all credentials from a provider. `Err`: the endpoint has credentials already.
    pub(super) fn ask(&mut self, provider: Given) -> Result<(), ()> {
        // All sources of this client share one thread. Another client gets another thread.
        let source = Source::new(provider, ServerKind::Server);
        for (login, kind) in self.logins() {
            if login.user.is_some() || login.password.is_some() {
                return Err(());
            }
            login.source = Some(source.of_kind(kind));
        }
        Ok(())
    }

    /// The servers of the store, for errors: as in the URL, without credentials.
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

    /// The error of a call for `name` that failed with `source` at this store.
    pub(crate) fn lock_error(&self, name: &Name, source: StoreError) -> LockError {
        match source.kind() {
            StoreErrorKind::Foreign => LockError::ForeignKey {
                name: name.to_string(),
            },
            StoreErrorKind::Unsupported => LockError::Unsupported {
                name: name.to_string(),
                what: source.to_string(),
                store: self.scheme(),
            },
            StoreErrorKind::Unreplicated { wanted, reached } => LockError::NotReplicated {
                name: name.to_string(),
                wanted,
                reached,
            },
            _ => self.unavailable(name, source),
        }
    }

    /// [`LockError::Unavailable`] for a call for `name`: the store did not serve the call, because of `source`.
    pub(crate) fn unavailable(&self, name: &Name, source: StoreError) -> LockError {
        LockError::Unavailable {
            name: name.to_string(),
            server: self.servers(),
            source,
        }
    }

    /// The highest database number that a server of the store uses.
    pub(crate) fn db(&self) -> u32 {
        let databases = self.accesses().into_iter().map(|access| access.db);
        databases.max().unwrap_or(0)
    }

    /// The TLS options, if the connections to the servers use TLS.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        let mut accesses = self.accesses().into_iter();
        accesses.find_map(|access| access.transport.tls.as_ref())
    }
}

impl Login {
    /// A user without a password logs in with an empty password, which suits a `nopass` user.
    pub(super) fn new(user: Option<Secret>, password: Option<Secret>) -> Self {
        let empty = || user.as_ref().map(|_| Secret::new(""));
        Self {
            password: password.or_else(empty),
            user,
            source: None,
        }
    }

    /// The credentials for a connection to `address`. A provider gets `limit` to return them. Cancel safe.
    pub(crate) async fn granted(
        &self,
        address: &Address,
        limit: Duration,
    ) -> Result<Granted, StoreError> {
        match &self.source {
            Some(source) => source.ask(address, limit).await,
            None => Ok(Granted {
                user: self.user.clone(),
                password: self.password.clone(),
                terms: Terms::default(),
            }),
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
