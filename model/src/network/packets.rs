//! The packets that members and the store send.

/// One request for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The member that the ticket belongs to.
    pub member: u8,
    /// The ticket's number. No other ticket in use by this member has the same number.
    pub number: u8,
}

/// The fencing time, which the store gives.
pub type Fence = u8;

/// The token of a grant or of a call. A fencing token is a fencing time and a number, which the register compares in this
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The fencing time.
    pub fence: Fence,
    /// The number of a call of those that enter without a request to the store; 0 in the store.
    pub number: u8,
    /// The true position of the grant or call in the order of all of them. Only the checks use it.
    pub order: u8,
}

impl Token {
    /// Returns the position alone.
    #[must_use]
    pub fn position(self) -> Self {
        let order = self.order;
        Self {
            order,
            ..Self::default()
        }
    }

    /// Returns the fencing token, which everyone can see.
    #[must_use]
    pub fn seen(self) -> (Fence, u8) {
        (self.fence, self.number)
    }
}

/// What a member does with the lock after a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retain {
    /// It releases the lock.
    #[default]
    No,
    /// A call is inside. Afterwards the member may keep the lock.
    InUse,
    /// The member keeps the lock, and no call is inside.
    Kept,
}

/// What an acquire or a touch asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wish {
    /// The counter of the request, among the requests of this ticket.
    pub counter: u8,
    /// What the member does with the lock after a call.
    pub retain: Retain,
    /// Whether the request asks for the short lease of a lock that may be kept.
    pub short: bool,
}

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Asks for the lock, and joins the queue.
    Acquire(Wish),
    /// Keeps a place, claims a grant, renews a lease.
    Touch(Wish),
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

/// A message of the store to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// Another member waits, so this member must not keep the lock.
    Recall(Ticket),
    /// A provisional grant.
    Grant(Granted),
}

/// The content of a grant by message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Granted {
    /// The token of the grant.
    pub token: Token,
    /// The ticket that holds.
    pub ticket: Ticket,
    /// The highest counter of this ticket that the store has executed.
    pub counter: u8,
    /// For how many ticks the grant lasts.
    pub hold: u8,
}

impl Message {
    /// Returns the ticket that the message is about.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        match self {
            Self::Recall(ticket) => *ticket,
            Self::Grant(grant) => grant.ticket,
        }
    }

    /// Returns the content, if it is a grant.
    #[must_use]
    pub fn grant(&self) -> Option<&Granted> {
        match self {
            Self::Recall(_) => None,
            Self::Grant(grant) => Some(grant),
        }
    }

    /// Returns the position of the grant in the order of all grants.
    #[must_use]
    pub fn order(&self) -> u8 {
        self.grant().map_or(0, |grant| grant.token.order)
    }
}
