//! [`LockInfo`]: what the store knows about a lock.

use std::time::Duration;

use crate::error::Holder;
use crate::store::{HolderRecord, Meta, NameRecord, TicketRecord};

/// What the store knew about a lock when it was asked. True for that moment only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Whether somebody has it, also when it is only kept for its `at_least`.
    pub locked: bool,
    /// Who has it, first come first; a mutex has one holder at most. A lock kept for its `at_least` names its last
    /// holder.
    pub holders: Vec<Holder>,
    /// The owner that the holder's handle named: see [`Mutex::owner`](crate::Mutex::owner).
    pub owner: Option<String>,
    /// Who waits, in order.
    pub waiters: Vec<Waiting>,
    /// The last fencing token's base; `None` if the name was not used for ten minutes or more.
    pub fencing_token: Option<u64>,
    /// When the first lease ends, if nobody renews it; `None` if nobody has it.
    pub expires_in: Option<Duration>,
}

/// Who waits for a lock. A process waits with one ticket for all its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The machine's host name.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// The place in the program.
    pub site: String,
}

impl LockInfo {
    /// Who has it; of several, the one that has had it for the longest.
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
