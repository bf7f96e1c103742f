//! [`Reader`]: reads the names of a store for the operator, and changes nothing there.
//!
//! A client of a store writes the server's term note, tries all commands, and subscribes. A reader does none of these.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::NameRecord;
use crate::error::{SetupError, StoreError};
use crate::guarantees::Guarantees;
use crate::name::Name;

pub(crate) type Reading<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// An error comes with the address of its server.
pub(crate) type Described = Result<Server, (String, SetupError)>;

pub(crate) trait Reader: Send {
    /// At least one node of a cluster must be reachable, and a majority of a quorum.
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>>;

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

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>>;

    fn describe(&mut self) -> Reading<'_, Vec<Described>>;
}

#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) server: String,
    pub(crate) keys: Vec<Found>,
    pub(crate) next: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) key: String,
    pub(crate) name: Option<Name>,
    pub(crate) never_ends: bool,
}

/// With the store's time in microseconds.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) now: u64,
    pub(crate) names: Vec<Result<NameRecord, StoreError>>,
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
