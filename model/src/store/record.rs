//! [`Record`]: what the store keeps of one ticket.

use crate::network::{Ticket, Token};

/// A waiter or a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The ticket.
    pub ticket: Ticket,
    /// The highest counter of its requests that was executed.
    pub counter: u8,
    /// For how long it keeps its place; 0 for a holder that has claimed.
    pub place: u8,
    /// It was passed over; nothing is granted to it before its next request.
    pub quiet: bool,
    /// For a waiter in the queue: how long ago it came, or was notified that it is among the first; `None` if neither since its
    /// last request.
    pub notified: Option<u8>,
    /// Its grant, if it holds.
    pub lease: Option<Lease>,
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// For how long it lasts; 0: it has ended, and no operation has noticed yet.
    pub left: u8,
    /// Another ticket's operation granted it, and its member has not claimed it.
    pub provisional: bool,
    /// Its token.
    pub token: Token,
}

impl Record {
    /// Whether it is in the queue, and not passed over.
    pub(super) fn waits(&self) -> bool {
        self.lease.is_none() && !self.quiet
    }
}
