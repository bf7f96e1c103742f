//! [`Config`]: which store, and the defaults of its locks.
//!
//! Here the options are collected; `url` takes the address apart, `settings` checks the whole. Nothing here
//! connects.

mod endpoint;
mod environment;
mod seconds;
mod secret;
mod settings;
mod url;

use std::time::Duration;

pub(crate) use endpoint::{
    Access, Address, ClusterEndpoint, Endpoint, Login, QuorumEndpoint, RedisEndpoint,
    SentinelEndpoint, Tls,
};
pub use seconds::Seconds;
pub(crate) use settings::{LONGEST_LEASE, Replicas, SHORTEST_EXPIRE, Settings};

use crate::error::SetupError;

/// Which store to use, and the defaults of its locks.
///
/// A URL alone is enough wherever a `Config` is asked for. Spans of time are in [`Seconds`]: an integer, a
/// float or a [`Duration`]. A value that cannot work is reported by `setup` and `Client::connect`.
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// use auto_mutex::Config;
///
/// let config = Config::new("redis://127.0.0.1:6379")?
///     .namespace("prod")
///     .lease(5)
///     .expire(600)
///     .block(2.5);
/// # Ok(()) }
/// ```
///
/// # URLs
///
/// | URL | store |
/// |---|---|
/// | `memory://` | in this process, private to the client |
/// | `memory://name` | in this process, shared by all clients with that URL |
/// | `redis://[user[:password]@]host[:port][/database]` | a Redis server by TCP; the port is 6379 unless said |
/// | `rediss://…` | the same by TLS (feature `tls`) |
/// | `unix:///path` | a Redis server by a socket file (also `redis+unix://`) |
/// | `redis-sentinel://[user[:password]@]host[:port],…/service[/database]` | the primary of a service, found by asking these sentinels; their port is 26379 unless said |
/// | `redis-cluster://[user[:password]@]host[:port],…` | a Redis Cluster, of which these are some nodes |
/// | `redlock://[user[:password]@]host[:port],…[/database]` | a majority of independent servers, all of which are named: 3, 5, 7… |
///
/// What may stand behind a question mark, with `&` between one and the next:
///
/// | parameter | with | meaning |
/// |---|---|---|
/// | `tls=true` | every scheme over TCP | talk by TLS to all servers, and to sentinels; `rediss://` says the same |
/// | `ca=/path` | TLS | trust the authorities whose certificates are in this file, instead of those of the system |
/// | `cert=/path`, `key=/path` | TLS | our own certificate (with those between it and its authority) and its private key, where the server asks for one (`tls-auth-clients`) |
/// | `server_name=…` | TLS | the name that every server's certificate must have, instead of the host or address that is connected to |
/// | `sentinel_user=…`, `sentinel_pass=…` | `redis-sentinel://` | the login at the sentinels; that before the `@` is for the servers |
/// | `db=…` | `unix://` | the database; elsewhere it stands in the path |
/// | `user=…`, `pass=…` | `unix://` | the login; elsewhere it stands before the `@` |
/// | `protocol=resp3` | all but `memory://` | nothing: it is always RESP3. For URLs that other libraries need too |
///
/// Special characters of a user, password, path or parameter are percent-encoded. No Debug output or error shows a user,
/// a password or the content of a file.
///
/// # TLS
///
/// Needs the feature `tls` of this crate, which is off unless asked for, since it needs a C compiler. TLS 1.2 and 1.3. The
/// files are in PEM; they are read at set-up, and again for each new connection, so a renewed certificate
/// needs no restart. The system's authorities are found where OpenSSL looks for them (`SSL_CERT_FILE`, `SSL_CERT_DIR`). A
/// certificate is always checked. What is wrong is told by [`TlsError`](crate::TlsError).
#[derive(Clone, Debug)]
#[must_use = "a Config does nothing until it is given to `setup` or `Client::connect`"]
pub struct Config {
    endpoint: Endpoint,
    namespace: Option<String>,
    lease: Option<Result<Duration, &'static str>>,
    expire: Option<Result<Duration, &'static str>>,
    never_expire: bool,
    block: Option<Result<Duration, &'static str>>,
    patience: Option<Result<Duration, &'static str>>,
    connect_timeout: Option<Result<Duration, &'static str>>,
    handover: Option<(u32, Result<Duration, &'static str>)>,
    restart_guard: Option<bool>,
    failover_guard: bool,
    longest_lease: Option<Result<Duration, &'static str>>,
    replicas: Option<(u32, Result<Duration, &'static str>)>,
}

impl Config {
    /// The store at `url`, with the usual defaults.
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidUrl`] if the URL cannot be understood, [`SetupError::UnsupportedStore`] if this
    /// build cannot serve it.
    pub fn new(url: impl AsRef<str>) -> Result<Self, SetupError> {
        url::parse(url.as_ref()).map(Self::at)
    }

    /// A quorum of independent servers, each with a URL of its own: for servers with different credentials, databases or
    /// sockets. Where all that is the same, `redlock://h1,h2,h3` says it shorter.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// use auto_mutex::Config;
    ///
    /// let config = Config::quorum([
    ///     "redis://:one@10.0.0.1",
    ///     "redis://:two@10.0.0.2/3",
    ///     "unix:///run/redis/redis.sock",
    /// ])?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidUrl`] if a URL cannot be understood or is not that of one server, if there are not 3, 5, 7 … 15 of
    /// them, or if two name the same server.
    pub fn quorum<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Result<Self, SetupError> {
        url::several(urls).map(Self::at)
    }

    fn at(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            namespace: None,
            lease: None,
            expire: None,
            never_expire: false,
            block: None,
            patience: None,
            connect_timeout: None,
            handover: None,
            restart_guard: None,
            failover_guard: true,
            longest_lease: None,
            replicas: None,
        }
    }

    /// From the environment: the URL in `AUTO_MUTEX_URL`, the namespace, if any, in `AUTO_MUTEX_NAMESPACE`.
    ///
    /// # Errors
    ///
    /// [`SetupError::Environment`] if the URL is not set or a variable is not UTF-8, and those of
    /// [`Config::new`].
    pub fn from_env() -> Result<Self, SetupError> {
        environment::read(|variable| std::env::var_os(variable))
    }

    /// The first part of every name, so that several programs or stages can share a store.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// How long the store keeps what this process holds without hearing from it: 100 ms to 30 s, 10 s unless
    /// said, and no longer than `longest_lease`. Renewed in the background; a killed process frees its locks within one lease.
    pub fn lease(mut self, seconds: impl Seconds) -> Self {
        self.lease = Some(seconds::span(seconds));
        self
    }

    /// How long a lock may be held at most: 24 hours unless said.
    pub fn expire(mut self, seconds: impl Seconds) -> Self {
        self.expire = Some(seconds::span(seconds));
        self.never_expire = false;
        self
    }

    /// A lock may be held for as long as its process lives.
    pub fn never_expire(mut self) -> Self {
        self.expire = None;
        self.never_expire = true;
        self
    }

    /// How long to wait for a lock: as long as it takes unless said. `0` does not wait.
    pub fn block(mut self, seconds: impl Seconds) -> Self {
        self.block = Some(seconds::span(seconds));
        self
    }

    /// How long a call puts up with a store that does not answer before it fails: one lease unless said. One that does not
    /// wait, for a second at most; and a process that has stood still for a while (its machine slept) gives the store
    /// a second to answer after that.
    pub fn patience(mut self, seconds: impl Seconds) -> Self {
        self.patience = Some(seconds::span(seconds));
        self
    }

    /// How long the first connection may take: 5 s unless said.
    pub fn connect_timeout(mut self, seconds: impl Seconds) -> Self {
        self.connect_timeout = Some(seconds::span(seconds));
        self
    }

    /// How often, and for how long after the store's grant, a released lock goes straight to the next waiter of the
    /// same process, before waiters of other processes have their turn: 100 times and 5 ms unless said, 1023 times
    /// at most. `0` times turns it off.
    ///
    /// A hand-over costs no round trip. Every holder still has a fencing token and an `expire` of its own, and waiters
    /// of one process are served in order. With `unlock`, which waits for the store's word, nothing is handed over.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.local_handover(20, 0.002);
    /// # Ok(()) }
    /// ```
    pub fn local_handover(mut self, times: u32, seconds: impl Seconds) -> Self {
        self.handover = Some((times, seconds::span(seconds)));
        self
    }

    /// Whether a server that was restarted grants nothing until every lease has ended that it may have given before:
    /// for as long after its start as after a failover, since it may have been promoted just before (a server of a quorum for
    /// `longest_lease` and a second). Without it a server that comes back without its data hands out
    /// again at once what somebody still believes to hold.
    ///
    /// On for Sentinel, Cluster and quorum URLs unless said, off for the others. After a *failover*, when a replica has
    /// become the primary, nothing is granted for as long whatever is said here. Calls that give up meanwhile get
    /// [`LockError::Unavailable`](crate::LockError::Unavailable), which says for how long. A store in this process does
    /// not outlive its clients and needs no guard.
    pub fn restart_guard(mut self, on: bool) -> Self {
        self.restart_guard = Some(on);
        self
    }

    /// Takes the guard against failovers away: two may then hold the same lock after one. For the campaign that shows it.
    #[doc(hidden)]
    pub fn without_failover_guard(mut self) -> Self {
        self.failover_guard = false;
        self
    }

    /// No client of this store has a longer lease: 30 s unless said, 30 s at most. For as long nothing is granted after a
    /// failover, and after a restart with [`restart_guard`](Self::restart_guard). A `lease` beyond it is refused.
    ///
    /// The server remembers the longest that any client has said.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?
    ///     .lease(5)
    ///     .longest_lease(5)
    ///     .restart_guard(true);
    /// # Ok(()) }
    /// ```
    pub fn longest_lease(mut self, seconds: impl Seconds) -> Self {
        self.longest_lease = Some(seconds::span(seconds));
        self
    }

    /// A grant counts only when `count` replicas of the server have it, which is waited for up to `timeout` (WAIT): unless said,
    /// none are.
    ///
    /// Otherwise the lock is released again and the call fails with
    /// [`LockError::NotReplicated`](crate::LockError::NotReplicated). So a grant outlives the loss of the primary, if the replica
    /// that takes over is one that had it. Together with `min-replicas-to-write` on the server, which ends the grants of a
    /// primary that is cut off, that is the most that one primary with replicas can give; it is not consensus. Costs a
    /// second connection and, for each grant of the store, another round trip; renewals cost nothing more.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.replicas(1, 0.2);
    /// # Ok(()) }
    /// ```
    pub fn replicas(mut self, count: u32, timeout: impl Seconds) -> Self {
        self.replicas = Some((count, seconds::span(timeout)));
        self
    }

    /// Checks all options.
    pub(crate) fn validate(self) -> Result<Settings, SetupError> {
        Settings::check(self)
    }
}

impl TryFrom<&str> for Config {
    type Error = SetupError;

    fn try_from(url: &str) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

impl TryFrom<String> for Config {
    type Error = SetupError;

    fn try_from(url: String) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

impl TryFrom<&String> for Config {
    type Error = SetupError;

    fn try_from(url: &String) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

#[cfg(test)]
mod tests;
