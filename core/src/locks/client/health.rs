//! [`Health`]: the state of a client. Also pings.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use auto_mutex_protocol::client::{Outage, Servers};

use super::Client;
use crate::base::clock;
use crate::base::error::{LockError, StoreError};
use crate::base::name::Name;
use crate::base::wait::block_on;
use crate::queue::{Answered, LockQueue};
use crate::store::engine::Layout;
use crate::store::{Op, ServerHealth, write_state};

/// How many names a ping tries, to find one on each node. It may miss a cluster node with few slots.
const MOST_PINGS: u32 = 4096;

/// The state of a client, for readiness probes and status pages. [`Client::health`] returns it.
///
/// Its `Display` output is a short text, with one line per server.
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
    /// Whether the client accepts calls. `false` while it drains, after it was shut down, and in a forked process.
    pub accepts_calls: bool,
    /// Whether the store is connected: a majority of a quorum, every primary of a cluster.
    pub connected: bool,
    /// How long the store still grants nothing, after a restart or a failover; `None` if it grants. For a cluster, this
    /// is the longest time of any node.
    pub closed_for: Option<Duration>,
    /// How long ago the client sent its oldest unanswered renewal. When this reaches the lease, locks are lost.
    pub oldest_renewal: Option<Duration>,
    /// The number of locks that the client holds.
    pub held: usize,
    /// The number of calls that wait for a lock.
    pub waiting: usize,
    /// The last failure of a connection, even if the client has reconnected since.
    pub last_error: Option<LastError>,
    /// The last refusal, if the store has refused the latest request for a lock, at most one lease ago: its memory or
    /// its disk is full, for example. Calls wait for it, as in an outage.
    pub refusal: Option<LastError>,
    /// Each server in use. Empty for `memory://`. Until the nodes of a cluster are known
    /// ([`Config::connect_lazily`](crate::Config::connect_lazily)), there is one entry with the addresses in the URL.
    pub servers: Vec<ServerHealth>,
    ready: bool,
}

/// A failure of a connection, or a refusal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// How long ago it was.
    pub ago: Duration,
    /// The error. Its text contains no secrets.
    pub error: StoreError,
}

impl Health {
    /// Whether a free lock could be taken now, as far as this process knows. The rule:
    ///
    /// - the client accepts calls;
    /// - the store is connected and grants: its server, a majority of a quorum, or at least one primary of a cluster.
    ///   One is enough, because each primary serves only part of the locks; and
    /// - the store does not [refuse](Self::refusal) requests. (Of a cluster, other primaries may serve.)
    ///
    /// Use this rule for the readiness probe of a service that cannot work without its locks. If a part of the service
    /// needs none, use `accepts_calls` instead. Otherwise every pod would become unready while Redis fails over, and
    /// all requests would fail. Use neither for a liveness probe, because restarting the pod does not repair a server.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ready { "ready" } else { "not ready" })?;
        if !self.accepts_calls {
            f.write_str("; accepts no calls")?;
        }
        write_state(f, self.connected, self.closed_for)?;
        write!(f, "; {} held, {} waiting", self.held, self.waiting)?;
        if let Some(renewal) = self.oldest_renewal {
            write!(f, "; no answer to a renewal for {renewal:.1?}")?;
        }
        if let Some(LastError { ago, error }) = &self.refusal {
            write!(f, "; refused {ago:.0?} ago: {error}")?;
        }
        if let Some(LastError { ago, error }) = &self.last_error {
            write!(f, "; last error {ago:.0?} ago: {error}")?;
        }
        for server in &self.servers {
            write!(f, "; {server}")?;
        }
        Ok(())
    }
}

impl Client {
    /// Returns the state of this client. Sends nothing and does not wait, but visits every name in use.
    #[must_use]
    pub fn health(&self) -> Health {
        let (core, now) = (self.core(), clock::now());
        let accepts_calls = core.is_open();
        let connected = self.is_connected();
        let closed = core.links.read(|servers| servers.longest_closed(now));
        let closed_for = closed.and_then(|closed| closed.left(now));
        let servers = core.store().servers();
        let refusal = core.links.refusal(now, core.settings().lease());
        let grants = match core.settings().engine.layout() {
            Layout::Sharded => servers.iter().any(ServerHealth::grants),
            _ => connected && closed_for.is_none() && refusal.is_none(),
        };
        let load = core.load();
        let last = core.links.read(|servers| servers.last_outage().cloned());
        let ago = |(at, error): Outage| LastError {
            ago: at.until(now),
            error,
        };
        Health {
            ready: accepts_calls && grants,
            accepts_calls,
            connected,
            closed_for,
            oldest_renewal: load.oldest_renewal.map(|sent| sent.until(now)),
            held: load.held,
            waiting: load.waiting,
            last_error: last.map(ago),
            refusal: refusal.map(ago),
            servers,
        }
    }

    /// Whether the store is connected, as far as this process knows: a majority of a quorum, every primary of a
    /// cluster. Sends nothing and does not wait. `false` after a shutdown.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.core().is_over() && self.core().links.read(|servers| !servers.any_down())
    }

    /// Pings the store, and returns the round-trip time. With several servers, it is the time of the last answer; with
    /// a quorum, the time until a majority has answered.
    ///
    /// The ping runs one of the locks' own scripts with a name that is never in use, so an answer also shows that the
    /// server can serve locks. It does not show whether the server grants them: see [`Health::closed_for`].
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], immediately if a server is not connected, or if it does not answer within
    /// `store_timeout`. Also the errors of a client that is shut down or forked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect on any lock.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// println!("the lock store answers within {:?}", client.ping().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn ping(&self) -> Result<Duration, LockError> {
        let sent = clock::now();
        for answer in self.pinging()? {
            answer.wait().await?;
        }
        Ok(sent.until(clock::now()))
    }

    /// Like [`ping`](Self::ping), but blocks the thread. The errors are the same.
    pub fn blocking_ping(&self) -> Result<Duration, LockError> {
        block_on(self.ping())
    }

    fn pinging(&self) -> Result<Vec<Answered>, LockError> {
        let core = self.core();
        let ask = |name: &Name| {
            if let (Some((_, source)), _) = core.trouble(name) {
                return Err(core.settings().unavailable(name, source));
            }
            core.with_queue(name, |local| {
                LockQueue::query(local, &Op::Inspect { above: u32::MAX })
            })
        };
        self.ping_names().iter().map(ask).collect()
    }

    /// Names that are never in use, one on each node. Names of users never begin with a colon.
    fn ping_names(&self) -> Vec<Name> {
        let (store, nodes) = (self.core().store(), self.core().links.read(Servers::count));
        let mut found = HashSet::new();
        let names = (0..MOST_PINGS).map(|number| Name::from_escaped(&format!(":ping{number}")));
        let names = names.filter(|name| found.insert(store.node(name)));
        names.take(nodes.max(1)).collect()
    }
}
