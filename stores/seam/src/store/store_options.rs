//! [`StoreOptions`]: the options of a client that an engine needs.

use std::time::Duration;

/// A lock is renewed this many times in the length of its lease.
pub const RENEWALS: u32 = 3;

/// The options of a client that an engine needs.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// How long set-up may take to connect.
    pub connect_timeout: Duration,
    /// Whether a restarted server grants nothing for a while.
    pub restart_guard: bool,
    /// Whether a promoted replica grants at once.
    pub trust_failover: bool,
    /// The longest lease of any client of the store.
    pub longest_lease: Duration,
    /// The lease of this client's locks, or `None` for the default.
    pub lease: Option<Duration>,
    /// How many replicas must have a grant.
    pub replicas: Option<Replicas>,
    /// Whether the store is one of several in a quorum.
    pub is_voter: bool,
}

impl StoreOptions {
    /// The lease of this client's locks.
    pub fn lease(&self) -> Duration {
        let default = || Duration::from_secs(10).min(self.longest_lease);
        self.lease.unwrap_or_else(default)
    }
}

/// How many replicas must have a grant, and how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// How many replicas.
    pub count: u32,
    /// How long a grant may wait for them.
    pub timeout: Duration,
}
