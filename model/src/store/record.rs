//! What the store keeps of one ticket.

use crate::network::{Ticket, Token};

/// A waiter or a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Whose it is.
    pub ticket: Ticket,
    /// The last sending of it that was executed.
    pub counter: u8,
    /// How long it keeps its place, counted from when it was heard. Of a holder that has claimed: 0, it needs none.
    pub place: u8,
    /// It was passed over, and is not granted before it speaks.
    pub quiet: bool,
    /// Of a waiter that may be granted: how long ago it came, or was notified that it is among the first. `None`: neither since it
    /// last spoke.
    pub notified: Option<u8>,
    /// It holds.
    pub lease: Option<Lease>,
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// For how long it lasts; 0: it has ended, and no operation has noticed.
    pub left: u8,
    /// Granted by somebody else's operation, and not claimed.
    pub provisional: bool,
    /// Its token.
    pub token: Token,
}

impl Record {
    /// Whether it may be granted.
    pub(super) fn waits(&self) -> bool {
        self.lease.is_none() && !self.quiet
    }
}
