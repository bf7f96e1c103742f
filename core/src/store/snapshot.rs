//! What an inspector reads: the state of names, keys, and the description of a server.

use std::time::Duration;

use super::NameRecord;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::name::Name;

/// The state of some names, and the store's time when it read that state, in microseconds.
#[derive(Debug)]
pub struct Snapshot {
    /// The time of the store.
    pub now: u64,
    /// The state of each name.
    pub names: Vec<Result<NameRecord, StoreError>>,
}

/// A key with the prefix of this library.
#[derive(Debug)]
pub struct KeyEnd {
    /// The key.
    pub key: String,
    /// The name, if this is the first key of a name.
    pub name: Option<Name>,
    /// Whether the key has no time to live.
    pub never: bool,
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
