//! [`Inspector`]: reads the names of a store of any kind for the operator, and changes nothing there.
//!
//! A client of a store writes the server's term note, tries all commands, and subscribes. An inspector does none of these:
//! it scans, runs the operation `inspect`, and asks servers about themselves.

use super::open::check_tls;
use super::quorum;
use super::redis::{self, Guard, Route, Spec};
use super::snapshot::{KeyEnd, Page, Server, Snapshot};
use super::{MemberId, cluster, memory};
use crate::config::{Access, Endpoint, Settings};
use crate::error::SetupError;
use crate::name::Name;

/// The position of a scan of the whole store: a server, and its cursor.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    server: usize,
    cursor: String,
}

impl Position {
    pub(crate) fn start() -> Self {
        Self::at(0)
    }

    /// Whether this is the start of a scan. A server returns the cursor `0` only at the end, so no later position is
    /// equal to the start.
    fn is_start(&self) -> bool {
        self.server == 0 && self.cursor == "0"
    }

    fn at(server: usize) -> Self {
        Self {
            server,
            cursor: "0".to_owned(),
        }
    }

    /// The position after a page; `None` after the last page of the last server. `next`: the server's next cursor.
    fn after(&self, next: Option<String>, servers: usize) -> Option<Self> {
        match next {
            Some(cursor) => Some(Self {
                server: self.server,
                cursor,
            }),
            None => (self.server + 1 < servers).then(|| Self::at(self.server + 1)),
        }
    }
}

/// A reader of a store of any kind.
pub(crate) enum Inspector {
    Memory(memory::Inspector),
    Server(Box<redis::Inspector>),
    Cluster(Box<cluster::Inspector>),
    Quorum(quorum::Inspector),
}

impl Inspector {
    /// Makes a reader that is not connected yet.
    pub(crate) fn new(settings: &Settings) -> Result<Self, SetupError> {
        check_tls(settings)?;
        let server = |route, access, guard| reader(settings, route, access, guard);
        let guard = Guard::of(settings);
        Ok(match &settings.endpoint {
            Endpoint::Memory { shared } => Self::Memory(memory::Inspector::new(shared.as_deref())),
            Endpoint::Redis(endpoint) => {
                let route = Route::fixed(endpoint);
                Self::Server(Box::new(server(route, &endpoint.access, guard)))
            }
            Endpoint::Sentinel(endpoint) => {
                let route = Route::by_sentinels(endpoint);
                Self::Server(Box::new(server(route, &endpoint.access, guard)))
            }
            Endpoint::Cluster(endpoint) => {
                Self::Cluster(Box::new(cluster::Inspector::new(endpoint, settings)))
            }
            Endpoint::Quorum(nodes) => {
                let guard = guard.unreplicated();
                let nodes = nodes.iter();
                let readers =
                    nodes.map(|node| server(Route::fixed(node), &node.access, guard.clone()));
                Self::Quorum(quorum::Inspector::new(readers))
            }
        })
    }

    /// Connects to the servers. At least one node of a cluster must be reachable, and a majority of a quorum.
    pub(crate) async fn connect(&mut self) -> Result<(), SetupError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Server(server) => server.connect().await,
            Self::Cluster(cluster) => {
                cluster.refresh().await?;
                // One node is enough to start with.
                let mut connected = Ok(());
                for node in cluster.nodes() {
                    match node.connect().await {
                        Ok(()) => return Ok(()),
                        error => connected = error,
                    }
                }
                connected
            }
            Self::Quorum(quorum) => quorum.connect().await,
        }
    }

    /// Returns the next names that match `pattern`, a pattern of SCAN; and the next position. A scan may return a name twice.
    pub(crate) async fn names(
        &mut self,
        pattern: &str,
        position: &Position,
    ) -> Result<(Vec<Name>, Option<Position>), SetupError> {
        if let Self::Memory(memory) = self {
            return Ok((memory.names(pattern), None));
        }
        let ask =
            async |server: &mut redis::Inspector, cursor: &str| server.names(pattern, cursor).await;
        let (mut names, next) = self.part(position, ask).await?;
        if let Self::Quorum(quorum) = self {
            quorum.leave_out(position.server, &mut names).await?;
        }
        // Leaves out the names that clients probe when they connect. No name of a user begins with a colon.
        names.retain(|name| !name.as_str().starts_with(':'));
        Ok((names, next))
    }

    /// The state of each name.
    pub(crate) async fn inspect(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        match self {
            Self::Memory(memory) => Ok(memory.inspect(names)),
            Self::Server(server) => server.inspect(names).await,
            Self::Cluster(cluster) => cluster.inspect(names).await,
            Self::Quorum(quorum) => quorum.inspect(names).await,
        }
    }

    /// Returns the next keys of the library, each with its server; and the next position. The keys of an unreachable
    /// server of a cluster or quorum are left out: [`describe`](Self::describe) reports such a server.
    pub(crate) async fn keys(
        &mut self,
        position: &Position,
    ) -> Result<(Vec<(String, KeyEnd)>, Option<Position>), SetupError> {
        self.begin(position).await?;
        let may_be_missing = matches!(self, Self::Cluster(_) | Self::Quorum(_));
        let mut servers = self.servers();
        let count = servers.len();
        let Some(server) = servers.get_mut(position.server) else {
            return Ok((Vec::new(), None));
        };
        let place = server.place();
        let page = match server.keys(&position.cursor).await {
            Err(SetupError::Unreachable { .. }) if may_be_missing => Page::empty(),
            page => page?,
        };
        let keys = page.items.into_iter().map(|mut key| {
            // A wake queue does not count as a name: the state of the name that it belongs to includes it.
            key.name.take_if(|name| quorum::is_wake_queue(name));
            (place.clone(), key)
        });
        Ok((keys.collect(), position.after(page.next, count)))
    }

    /// Asks each server to describe itself. A server that cannot be asked gives an error, with its address.
    pub(crate) async fn describe(&mut self) -> Vec<Result<Server, (String, SetupError)>> {
        let mut all = Vec::new();
        for server in self.servers() {
            let described = server.server().await;
            all.push(described.map_err(|error| (server.place(), error)));
        }
        all
    }

    /// Asks the server at `position` for the next part of a scan. Returns that part and the next position. A server of a
    /// quorum that cannot be reached is left out.
    async fn part<T>(
        &mut self,
        position: &Position,
        ask: impl AsyncFnOnce(&mut redis::Inspector, &str) -> Result<Page<T>, SetupError>,
    ) -> Result<(Vec<T>, Option<Position>), SetupError> {
        self.begin(position).await?;
        let Position { server, cursor } = position;
        let ask = async |server: &mut redis::Inspector| ask(server, cursor).await;
        let page = match self {
            Self::Quorum(quorum) => quorum.of_one(*server, ask).await?,
            _ => match self.servers().get_mut(*server) {
                Some(server) => Some(ask(server).await?),
                None => None,
            },
        };
        let Page { items, next } = page.unwrap_or_else(Page::empty);
        Ok((items, position.after(next, self.servers().len())))
    }

    /// Begins a scan. A scan of a cluster asks for the nodes again, because some may have been added or replaced.
    async fn begin(&mut self, position: &Position) -> Result<(), SetupError> {
        match self {
            Self::Cluster(cluster) if position.is_start() => cluster.refresh().await,
            _ => Ok(()),
        }
    }

    fn servers(&mut self) -> Vec<&mut redis::Inspector> {
        match self {
            Self::Memory(_) => Vec::new(),
            Self::Server(server) => vec![server],
            Self::Cluster(cluster) => cluster.nodes().collect(),
            Self::Quorum(quorum) => quorum.nodes().collect(),
        }
    }
}

/// A reader of one server.
fn reader(settings: &Settings, route: Route, access: &Access, guard: Guard) -> redis::Inspector {
    let nobody = MemberId::random();
    redis::Inspector::new(Spec {
        replicas: settings.replicas,
        ..Spec::new(route, access, nobody, guard, settings.connect_timeout)
    })
}
