//! [`LockInfo`]: what the store knows about a lock.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::base::error::{HoldKind, Holder, apart};
use crate::store::{NameRecord, meta};

/// The state of a lock when the store was asked. It may have changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Whether the lock has a holder, or its `at_least` is not over.
    pub locked: bool,
    /// Whether a client [keeps](crate::Config::retain) the lock after its last call, to save the next one a request. It
    /// counts as free: whoever asks for it gets it.
    pub kept: bool,
    /// The holders, in order of arrival. A mutex has at most one. While `at_least` still counts, or the
    /// lock is kept, this is the last holder.
    pub holders: Vec<Holder>,
    /// The owner that the holder's handle gave: see [`Mutex::owner`](crate::Mutex::owner).
    pub owner: Option<String>,
    /// The waiters, in the order of the queue. (A quorum orders them by `since`, and the next holder need not be the
    /// first.)
    pub waiters: Vec<Waiter>,
    /// The store's last fencing token. After handoffs in a process, a holder may have a greater one. `None` if the name
    /// has been unused for ten minutes or more.
    pub fencing_token: Option<u64>,
    /// The time until the first lease ends unless it is renewed. `None` if `locked` is `false`.
    pub expires_in: Option<Duration>,
}

/// A process that waits for a lock, perhaps for several of its tasks. The fields describe the first of these tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// The machine's host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The site in the program: the path of an annotated function or the name of a handle, then ` at file:line`.
    pub site: String,
    /// When the first of the process's tasks joined the queue, by the store's clock.
    pub since: SystemTime,
    /// The owner that the waiter's handle or attribute gave: see [`Mutex::owner`](crate::Mutex::owner).
    pub owner: Option<String>,
    /// The kind of lock that the process waits for.
    pub kind: HoldKind,
    /// The number of units that the process waits for: see [`Holder::units`].
    pub units: u32,
    /// The complete names of the locks that the waiting task held when it asked for this lock: see [`Holder::holds`].
    pub holds: Vec<String>,
    /// The waiter's place in the queue, from 1.
    pub place: u32,
    /// How many calls of the process wait with it, as of its last request, which is at most a third of a lease ago.
    pub calls: u32,
}

impl Waiter {
    /// The file in [`site`](Self::site), as given to the compiler.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        Some(apart(&self.site)?.1)
    }

    /// The line in [`site`](Self::site).
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        Some(apart(&self.site)?.2)
    }
}

impl fmt::Display for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {} on {})", self.site, self.pid, self.host)
    }
}

impl LockInfo {
    /// The holder. Of several, the one that has held the lock longest.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.holders.first()
    }

    /// How many calls wait: the sum of the [`calls`](Waiter::calls) of all waiters.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiters
            .iter()
            .map(|waiter| u64::from(waiter.calls))
            .sum()
    }

    pub(crate) fn new(record: &NameRecord) -> Self {
        let capacity = record.capacity.unwrap_or(0);
        let holders = record.holders.iter();
        let used = holders.clone().filter(|holder| !holder.kept);
        let waiters = (1..).zip(&record.waiters).filter_map(|(place, ticket)| {
            let holder = meta::describe(ticket, capacity)?;
            Some(Waiter {
                host: holder.host,
                pid: holder.pid,
                site: holder.site,
                since: holder.since,
                owner: holder.owner,
                kind: holder.kind?,
                units: holder.units?,
                holds: holder.holds,
                place,
                calls: ticket.calls(),
            })
        });
        Self {
            locked: used.clone().next().is_some(),
            kept: holders.clone().any(|holder| holder.kept),
            holders: holders
                .clone()
                .filter_map(|ticket| meta::describe(ticket, capacity))
                .collect(),
            owner: holders.clone().find_map(|holder| meta::owner(&holder.meta)),
            waiters: waiters.collect(),
            fencing_token: record.last_token(),
            expires_in: used.map(|holder| holder.left).min(),
        }
    }
}
