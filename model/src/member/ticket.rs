//! What a member knows about its waiting or holding ticket.

use crate::network::{Ticket, Token};

/// A request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    /// The request's counter.
    pub counter: u8,
    /// How many ticks ago it was sent.
    pub age: u8,
}

/// A ticket that waits or holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mine {
    /// The ticket's identity.
    pub ticket: Ticket,
    /// The requests that can still be answered.
    pub sent: Vec<Sent>,
    /// The last counter used.
    pub last: u8,
    /// Whether a connection broke before an acquire was answered, so that a copy may still arrive.
    pub late: bool,
    /// The state of the ticket.
    pub phase: Phase,
}

/// The state of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The ticket waits.
    Waits {
        /// The store has confirmed that it queues the ticket.
        queued: bool,
    },
    /// The ticket was granted.
    Holds {
        /// The token of the grant.
        token: Token,
        /// Replies to requests up to this counter are older than the grant.
        granted: u8,
        /// For how many more ticks the grant is valid.
        left: u8,
    },
}

impl Mine {
    /// Returns the counter for a request that is sent now.
    pub fn count(&mut self) -> u8 {
        self.last += 1;
        self.sent.push(Sent {
            counter: self.last,
            age: 0,
        });
        self.last
    }

    /// Returns how many ticks ago the request `counter` was sent, if that is known.
    #[must_use]
    pub fn age(&self, counter: u8) -> Option<u8> {
        let mut sent = self.sent.iter();
        sent.find(|sent| sent.counter == counter)
            .map(|sent| sent.age)
    }

    /// The store has executed request `counter`, so the member forgets when earlier requests were sent.
    pub fn executed(&mut self, counter: u8) {
        self.sent.retain(|sent| sent.counter >= counter);
    }
}
