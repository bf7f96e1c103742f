//! [`Record`]: the store's record of one ticket.

use crate::network::{Retain, Ticket, Token};

/// A waiter or a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The ticket.
    pub ticket: Ticket,
    /// The highest counter among this ticket's executed requests.
    pub counter: u8,
    /// The length of the lease that the last request asked for.
    pub hold: u8,
    /// What the member does with the lock after a call.
    pub retain: Retain,
    /// For how many more ticks the ticket keeps its place; 0 for a holder that has claimed.
    pub place: u8,
    /// Whether the ticket was passed over, and gets no grant before its next request.
    pub quiet: bool,
    /// For a waiter in the queue: how many ticks ago it came, or was told that it is among the first. `None` after a
    /// touch, until it is told again.
    pub notified: Option<u8>,
    /// The ticket's grant, if it holds.
    pub lease: Option<Lease>,
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// For how many more ticks the lease lasts. At 0, it has ended and no operation has noticed yet.
    pub left: u8,
    /// Whether another ticket's operation granted it, and its own member has not claimed it yet.
    pub provisional: bool,
    /// The token of the grant, or of a later touch.
    pub token: Token,
    /// The position of the grant, when touches have got new tokens since. Only the checks use it.
    pub first: Token,
}

impl Record {
    /// Returns whether the ticket is in the queue, and not passed over.
    pub(super) fn waits(&self) -> bool {
        self.lease.is_none() && !self.quiet
    }
}
