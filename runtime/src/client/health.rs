//! [`Health`]: the state of a client, as far as it is known without asking the store; and pings, which ask.

use std::fmt;
use std::time::Duration;

use super::Client;
use crate::clock::Instant;
use crate::config::Endpoint;
use crate::error::{LockError, StoreError};
use crate::queue::{Answered, LockQueue};
use crate::store::{GrantBlock, Op, ServerState};
use crate::wait::block_on;

/// The state of a client: what [`Client::health`] returns. For readiness probes and status pages.
///
/// Its Display is a short text, with a line for each server.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = auto_mutex::Client::connect("memory://")?;
/// let health = client.health();
/// assert!(health.is_ready() && health.connected && health.held == 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// Whether calls are accepted: the client neither drains nor was shut down, nor was the process forked.
    pub accepts_calls: bool,
    /// Whether the store is connected: a majority of a quorum, every primary of a cluster.
    pub connected: bool,
    /// How much longer the store grants nothing, after a restart or a failover; `None`: it grants. In a cluster, of the
    /// node that takes longest.
    pub closed_for: Option<Duration>,
    /// How long ago the oldest renewal was sent that has no answer yet. If this comes near to the lease, locks will be lost.
    pub oldest_renewal: Option<Duration>,
    /// How many locks the client holds.
    pub held: usize,
    /// How many calls wait for a lock.
    pub waiting: usize,
    /// The last failure of a connection, also if it is connected again.
    pub last_error: Option<LastError>,
    /// Each server in use. Empty for `memory://`; before the first connection
    /// ([`Config::connect_lazily`](crate::Config::connect_lazily)) one entry with the addresses of the URL.
    pub servers: Vec<ServerHealth>,
    ready: bool,
}

/// A failure of a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// How long ago.
    pub ago: Duration,
    /// What went wrong. Its text has no secrets.
    pub error: StoreError,
}

/// The state of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerHealth {
    /// Host and port, or the socket file. With sentinels: the current primary.
    pub address: String,
    /// Whether it is connected.
    pub connected: bool,
    /// How much longer it grants nothing, after a restart or a failover; `None`: it grants.
    pub closed_for: Option<Duration>,
    /// Why it is not connected.
    pub error: Option<StoreError>,
}

impl Health {
    /// Whether a free lock could be taken now, as far as this process knows. The rule:
    ///
    /// - the client accepts calls, and
    /// - the store is connected and grants: its server, or a majority of a quorum; in a cluster at least one primary, since
    ///   the locks of the others are only a part.
    ///
    /// For a readiness probe of a service that is of no use without its locks. Think of the others: if every pod becomes unready
    /// while Redis fails over, all requests fail, also those that need no lock. For such a service `accepts_calls` is the better
    /// rule. A liveness probe should ask neither: a restart mends no server.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready
    }
}

impl ServerHealth {
    fn new(server: ServerState, now: Instant) -> Self {
        Self {
            address: server.address,
            connected: server.link.down.is_none(),
            closed_for: left(server.link.closing, now),
            error: server.link.down,
        }
    }

    fn grants(&self) -> bool {
        self.connected && self.closed_for.is_none()
    }
}

fn left(closing: Option<GrantBlock>, now: Instant) -> Option<Duration> {
    let left = now.until(closing?.until);
    (!left.is_zero()).then_some(left)
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ready { "ready" } else { "not ready" })?;
        if !self.accepts_calls {
            f.write_str("; accepts no calls")?;
        }
        state(f, self.connected, self.closed_for)?;
        write!(f, "; {} held, {} waiting", self.held, self.waiting)?;
        if let Some(renewal) = self.oldest_renewal {
            write!(f, "; no answer to a renewal for {renewal:.1?}")?;
        }
        if let Some(LastError { ago, error }) = &self.last_error {
            write!(f, "; last error {ago:.0?} ago: {error}")?;
        }
        for server in &self.servers {
            write!(f, "\n{server}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ServerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        state(f, self.connected, self.closed_for)?;
        self.error
            .as_ref()
            .map_or(Ok(()), |error| write!(f, ": {error}"))
    }
}

fn state(f: &mut fmt::Formatter<'_>, connected: bool, closed_for: Option<Duration>) -> fmt::Result {
    f.write_str(if connected {
        "; connected"
    } else {
        "; not connected"
    })?;
    closed_for.map_or(Ok(()), |left| {
        write!(f, "; grants nothing for another {left:.0?}")
    })
}

impl Client {
    /// The state of this client. Asks no server and waits for nothing; it looks at each name in use.
    #[must_use]
    pub fn health(&self) -> Health {
        let (member, now) = (self.member(), Instant::now());
        let accepts_calls = member.is_open();
        let connected = self.is_connected();
        let closed_for = left(member.links().longest_closing(now), now);
        let link = |node| member.links().state(node);
        let servers = member.store().servers(&link).into_iter();
        let servers: Vec<_> = servers
            .map(|server| ServerHealth::new(server, now))
            .collect();
        let grants = match member.settings().endpoint {
            Endpoint::Cluster(_) => servers.iter().any(ServerHealth::grants),
            _ => connected && closed_for.is_none(),
        };
        let load = member.load();
        let last = member.links().last_error();
        Health {
            ready: accepts_calls && grants,
            accepts_calls,
            connected,
            closed_for,
            oldest_renewal: load.oldest_renewal.map(|sent| sent.until(now)),
            held: load.held,
            waiting: load.waiting,
            last_error: last.map(|(at, error)| LastError {
                ago: at.until(now),
                error,
            }),
            servers,
        }
    }

    /// Whether the store is connected, as far as this process knows: a majority of a quorum, every primary of a cluster. Asks no
    /// server and waits for nothing. `false` once the client was shut down.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.member().check().is_ok() && self.member().links().are_up()
    }

    /// Asks the store, and says how long the answer took: of several servers the last one's, of a quorum that of a majority.
    ///
    /// The question is one of the locks' own scripts, about a name that is never in use. So an answer also says that the server can
    /// serve locks. It does not say that it grants: see [`Health::closed_for`].
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`]: at once if a server is not connected; otherwise if it does not answer within
    /// `store_timeout`. Those of an unusable client.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// println!("the lock store answers within {:?}", client.ping().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn ping(&self) -> Result<Duration, LockError> {
        let sent = Instant::now();
        for answer in self.pinging()? {
            answer.wait().await?;
        }
        Ok(sent.until(Instant::now()))
    }

    /// As [`ping`](Self::ping), blocking the thread. The errors are the same.
    pub fn blocking_ping(&self) -> Result<Duration, LockError> {
        block_on(self.ping())
    }

    /// Every server is asked before any is waited for.
    fn pinging(&self) -> Result<Vec<Answered>, LockError> {
        let member = self.member();
        let names = member.store().pings();
        let ask = |name| {
            if let Some((_, source)) = member.outage(name) {
                return Err(LockError::Unavailable {
                    name: name.to_string(),
                    server: member.settings().endpoint.servers(),
                    source,
                });
            }
            member.with_queue(name, |local| LockQueue::query(local, &Op::Inspect))
        };
        names.iter().map(ask).collect()
    }
}
