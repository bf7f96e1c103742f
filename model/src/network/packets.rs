//! The packets that members and the store send.

/// One request for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The member that the ticket belongs to.
    pub member: u8,
    /// The ticket's number. No other ticket in use by this member has the same number.
    pub number: u8,
}

/// The fencing token, which the register compares.
pub type Fence = u8;

/// The token of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The fencing token.
    pub fence: Fence,
    /// The true position of the grant in the order of all grants. Only the checks use it.
    pub order: u8,
}

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Asks for the lock, and joins the queue.
    Acquire {
        /// The counter of the request, among the requests of this ticket.
        counter: u8,
    },
    /// Keeps a place, claims a grant, renews a lease.
    Touch {
        /// The counter of the request, among the requests of this ticket.
        counter: u8,
    },
    /// Releases the lock, or leaves the queue.
    Release {
        /// Whether the store keeps a tombstone, because a late copy of an acquire may arrive after this release.
        tomb: bool,
    },
}

/// A request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// The ticket that the request is about.
    pub ticket: Ticket,
    /// The operation that it asks for.
    pub verb: Verb,
}

/// The store's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// The ticket holds.
    Granted(Token),
    /// The ticket waits.
    Queued,
    /// The store does not know the ticket.
    Gone,
    /// The ticket was released before, so the store refuses it.
    Refused,
    /// The ticket has left.
    Left,
}

/// A reply in flight, with the request that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The request that is answered.
    pub request: Request,
    /// The store's reply.
    pub reply: Reply,
}

/// A provisional grant, sent by message to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The ticket that holds.
    pub ticket: Ticket,
    /// The highest counter of this ticket that the store has executed.
    pub counter: u8,
    /// The token of the grant.
    pub token: Token,
}
