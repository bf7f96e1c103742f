//! What is sent.

/// One request for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Whose it is.
    pub member: u8,
    /// Which of the tickets of this member that somebody still knows of.
    pub number: u8,
}

/// What the register compares.
pub type Fence = u8;

/// What the store hands out with a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The fencing token.
    pub fence: Fence,
    /// Which grant it really was; nobody can see that but the properties.
    pub order: u8,
}

/// What is asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Asks for the lock, and queues.
    Acquire {
        /// Which sending of the ticket it is.
        counter: u8,
    },
    /// Keeps a place, claims a grant, renews a lease.
    Touch {
        /// Which sending of the ticket it is.
        counter: u8,
    },
    /// Leaves.
    Release {
        /// Whether a late copy of an acquire may come after it.
        tomb: bool,
    },
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// Which ticket it is about.
    pub ticket: Ticket,
    /// What it asks for.
    pub verb: Verb,
}

/// What the store says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// It holds.
    Granted(Token),
    /// It waits.
    Queued,
    /// It is not known.
    Gone,
    /// It was released before.
    Refused,
    /// It has left.
    Left,
}

/// A reply on its way, with the request that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// What was asked.
    pub request: Request,
    /// What the store says.
    pub reply: Reply,
}

/// A provisional grant, told by the channel of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// Who holds.
    pub ticket: Ticket,
    /// The last sending of this ticket that the store has executed.
    pub counter: u8,
    /// The token of the grant.
    pub token: Token,
}
