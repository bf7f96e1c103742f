//! [`Reader`]: reads the names of a store for the operator, and changes nothing there.
//!
//! A client of a store writes the server's term note, tries all commands, and subscribes. A reader does none of these.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::NameRecord;
use crate::base::error::{SetupError, StoreError};
use crate::base::name::Name;
use crate::store::guarantees::Guarantees;

/// A future of a reader.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What a server says about itself; or its address, and why it could not be asked.
pub type Described = Result<Server, (String, SetupError)>;

/// Reads the names of a store.
pub trait Reader: Send {
    /// Connects to the servers. At least one node of a cluster must be reachable, and a majority of a quorum.
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>>;

    /// The number of servers that can be scanned.
    fn servers(&self) -> usize {
        1
    }

    /// The first keys of the names that match `pattern`. `None`: all keys of the library, without those of an unreachable
    /// server if there are others. The first cursor is `0`. A scan may return a key twice.
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

/// A part of the scan of a server.
#[derive(Debug, Default)]
pub struct Page {
    /// The keys.
    pub keys: Vec<Key>,
    /// The cursor of the next part; `None`: this was the last one.
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
    /// The name of the lock whose state the key contains; `None` for other keys.
    pub name: Option<String>,
    /// Whether the key never expires. All keys of the library expire.
    pub never_ends: bool,
    /// Nobody holds the lock or waits for it, and it has no signals. The engine reads this with the key, which costs the
    /// server much less than the state. `false` if the engine does not know.
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

/// A server of the store, as the server describes itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// The server's address, without credentials.
    pub address: String,
    /// The server's version, if the server reports it.
    pub version: Option<String>,
    /// The guarantees of the server for its locks.
    pub guarantees: Guarantees,
    /// How many milliseconds the server's clock is ahead of the clock of this process. The error is at most half of
    /// [`round_trip`](Self::round_trip).
    pub clock_ahead_ms: Option<i64>,
    /// The time for which the server still grants nothing, after a restart or a failover. `None`: the server grants.
    pub closed_for: Option<Duration>,
    /// How long the server took to answer.
    pub round_trip: Duration,
    /// Whether the server had the scripts of this version of the library before the operator connected.
    pub knew_scripts: bool,
    /// The server's replicas.
    pub replicas: Vec<Replica>,
    /// The memory that the server uses, in bytes.
    pub used_memory: Option<u64>,
    /// The most memory that the server may use, in bytes; `None` without a limit.
    pub max_memory: Option<u64>,
}

impl Server {
    /// A server about which an engine finds out more.
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
        }
    }
}

/// A replica of a server, as its primary describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replica {
    /// The replica's address.
    pub address: String,
    /// Whether the replica replicates at present.
    pub is_online: bool,
    /// How long ago the replica last confirmed the data that it has received, in whole seconds.
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
