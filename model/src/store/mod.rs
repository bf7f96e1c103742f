//! The store: the operations of `docs/protocol.md` on one name.
//!
//! Times are remaining ticks of the store's clock. There are no owners, signals, `at_least`, `force` or `adopt`.

mod grant;
mod operations;
mod prune;
mod record;
mod tick;

pub use self::grant::Channel;
pub use self::record::{Lease, Record};

use crate::network::{Fence, Retain, Ticket, Token};

/// How many of the first waiters are notified that they are near the front of the queue.
pub const NEAR: usize = 3;

/// The state of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    /// The last fencing token given.
    pub last: Fence,
    /// Holders and waiters, in the order in which their tickets came.
    pub records: Vec<Record>,
    /// Tombstones: the refused tickets, and for how many more ticks each is refused.
    pub gone: Vec<(Ticket, u8)>,
    /// For how many more ticks the store grants nothing.
    pub closed: u8,
    /// Whether the clock was stepped back and no operation has noticed yet. Nothing ends before the next operation.
    pub stepped_back: bool,
}

impl Store {
    /// Returns how many tickets hold now.
    #[must_use]
    pub fn holders(&self) -> usize {
        let held = |record: &&Record| record.lease.is_some_and(|lease| lease.left > 0);
        self.records.iter().filter(held).count()
    }

    /// Returns whether `ticket` holds since a grant with `token`, or since a grant after which a touch got `token`.
    #[must_use]
    pub fn has(&self, ticket: Ticket, token: Token) -> bool {
        let mut records = self.records.iter();
        records.any(|record| {
            let lease = record.lease.filter(|lease| lease.left > 0);
            let range = lease.map(|lease| lease.first.order..=lease.token.order);
            record.ticket == ticket && range.is_some_and(|range| range.contains(&token.order))
        })
    }

    /// Returns the only holder, if its member may keep the lock between calls.
    #[must_use]
    pub fn keeper(&self) -> Option<&Record> {
        let mut held = self.records.iter().filter(|record| record.lease.is_some());
        let keeper = held.next().filter(|record| record.retain != Retain::No);
        keeper.filter(|_| held.next().is_none())
    }

    /// Returns the index of `ticket`.
    #[must_use]
    pub fn find(&self, ticket: Ticket) -> Option<usize> {
        let mut records = self.records.iter();
        records.position(|record| record.ticket == ticket)
    }
}
