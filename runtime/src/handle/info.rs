//! [`LockInfo`]: what the store knows about a lock.

use std::time::Duration;

use crate::error::Holder;
use crate::store::{HolderRecord, Meta, NameRecord, TicketRecord};

/// The state of a lock when the store was asked. It may change at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Whether it has a holder, or is kept for `at_least`.
    pub locked: bool,
    /// The holders, the first to come first; a mutex has one at most. A lock that is kept for `at_least` names its last
    /// holder.
    pub holders: Vec<Holder>,
    /// The owner that the holder's handle names: see [`Mutex::owner`](crate::Mutex::owner).
    pub owner: Option<String>,
    /// The waiters, in order.
    pub waiters: Vec<Waiting>,
    /// The base of the last fencing token; `None` if the name was not used for ten minutes or more.
    pub fencing_token: Option<u64>,
    /// When the first lease ends if nobody renews it; `None` if nobody holds the lock.
    pub expires_in: Option<Duration>,
}

/// A process that waits for a lock, for any number of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The machine's host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The place in the program.
    pub site: String,
}

impl LockInfo {
    /// The holder; of several, the one that has held it longest.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.holders.first()
    }

    pub(crate) fn new(record: &NameRecord) -> Self {
        let who = |ticket: &TicketRecord| {
            Meta::read(&HolderRecord {
                token: ticket.token,
                meta: ticket.meta.clone(),
            })
        };
        Self {
            locked: !record.holders.is_empty(),
            holders: record.holders.iter().filter_map(who).collect(),
            owner: record
                .holders
                .iter()
                .find_map(|holder| Meta::owner(&holder.meta)),
            waiters: record
                .waiters
                .iter()
                .filter_map(who)
                .map(
                    |Holder {
                         host, pid, site, ..
                     }| Waiting { host, pid, site },
                )
                .collect(),
            fencing_token: (record.token > 0).then(|| record.token.saturating_mul(1024)),
            expires_in: record.holders.iter().map(|holder| holder.left).min(),
        }
    }
}
