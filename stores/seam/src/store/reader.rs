//! [`Reader`]: reads the names of a store for an operator, and changes nothing.
//!
//! Unlike a client of a store, a reader records no epoch, tries no commands, and does not subscribe.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::NameRecord;
use crate::base::error::{SetupError, StoreError};
use crate::base::name::Name;
use crate::store::guarantees::Guarantees;

/// A future returned by a reader.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A server's description of itself; or its address, and why it did not answer.
pub type Described = Result<Server, (String, SetupError)>;

/// Reads the names of a store.
pub trait Reader: Send {
    /// Connects to the servers. At least one node of a cluster, or a majority of a quorum, must be reachable.
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>>;

    /// The number of servers that can be scanned.
    fn servers(&self) -> usize {
        1
    }

    /// The first keys of the names that match `pattern`. With `None`, all keys of the library; then an unreachable
    /// server is skipped if there are others. The first cursor is `0`. A scan may return a key twice.
    fn scan<'a>(
        &'a mut self,
        server: usize,
        pattern: Option<&'a str>,
        cursor: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>>;

    /// Reads the state of each name.
    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>>;

    /// Asks each server to describe itself.
    fn describe(&mut self) -> Reading<'_, Vec<Described>>;
}

/// One page of a server's scan.
#[derive(Debug, Default)]
pub struct Page {
    /// The keys.
    pub keys: Vec<Key>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// A key with the prefix of this library, on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The server, without credentials.
    pub server: String,
    /// The whole key.
    pub key: String,
    /// The name whose lock state the key contains; `None` for other keys.
    pub name: Option<String>,
    /// Whether the key never expires. Keys of the library do expire.
    pub never_ends: bool,
    /// Whether nobody holds the lock or waits for it, and it has no signals. The engine reads this together with the
    /// key, which is far cheaper than reading the state. `false` if the engine does not know.
    pub idle: bool,
}

impl Key {
    /// A key that expires, as an engine found it.
    #[doc(hidden)]
    pub fn new(server: String, key: String, name: Option<&Name>) -> Self {
        Self {
            server,
            key,
            name: name.map(Name::to_string),
            never_ends: false,
            idle: false,
        }
    }
}

/// The state of some names.
#[derive(Debug)]
pub struct Snapshot {
    /// The store's time, in microseconds.
    pub now: u64,
    /// The state of each name.
    pub names: Vec<Result<NameRecord, StoreError>>,
}

/// A server's description of itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// The server's address, without credentials.
    pub address: String,
    /// The server's version, if the server reports it.
    pub version: Option<String>,
    /// The guarantees of the server for its locks.
    pub guarantees: Guarantees,
    /// How far the server's clock is ahead of this process's clock, in milliseconds, to within half of
    /// [`round_trip`](Self::round_trip).
    pub clock_ahead_ms: Option<i64>,
    /// How long the server still grants nothing, after a restart or a failover; `None` if it grants.
    pub closed_for: Option<Duration>,
    /// How long the server took to answer.
    pub round_trip: Duration,
    /// Whether the server already had the scripts of this library version when the operator connected.
    pub knew_scripts: bool,
    /// The server's replicas.
    pub replicas: Vec<Replica>,
    /// The memory that the server uses, in bytes.
    pub used_memory: Option<u64>,
    /// The most memory that the server may use, in bytes; `None` without a limit.
    pub max_memory: Option<u64>,
    /// Other problems of this kind of server: an id, its meaning, and the remedy.
    pub problems: Vec<[String; 3]>,
}

impl Server {
    /// A server with these facts; the engine adds others.
    #[doc(hidden)]
    pub fn new(address: String, guarantees: Guarantees) -> Self {
        Self {
            address,
            version: None,
            guarantees,
            clock_ahead_ms: None,
            closed_for: None,
            round_trip: Duration::ZERO,
            knew_scripts: true,
            replicas: Vec::new(),
            used_memory: None,
            max_memory: None,
            problems: Vec::new(),
        }
    }
}

/// A replica of a server, as its primary describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replica {
    /// The replica's address.
    pub address: String,
    /// Whether it is replicating.
    pub is_online: bool,
    /// How long ago the replica last confirmed received data, in whole seconds.
    pub lag: Option<Duration>,
}

impl Replica {
    /// A replica, as an engine found it.
    #[doc(hidden)]
    pub fn new(address: String, is_online: bool, lag: Option<Duration>) -> Self {
        Self {
            address,
            is_online,
            lag,
        }
    }
}
