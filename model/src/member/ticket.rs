//! What a member knows about its waiting or holding ticket.

use crate::network::{Ticket, Token};

/// A request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    /// The request's counter.
    pub counter: u8,
    /// How many ticks ago it was sent.
    pub age: u8,
    /// Whether it asked for the short lease.
    pub short: bool,
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
    /// Whether the member may keep the lock between calls.
    pub keep: bool,
    /// Whether the last lease that the member asked for is a full one.
    pub long: bool,
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
        /// The token of the grant, or of the last touch.
        token: Token,
        /// Replies to requests up to this counter are older than the grant, or than the end of the call.
        granted: u8,
        /// For how many more ticks the grant is valid.
        left: u8,
        /// Whether a call is inside. If not, the member keeps the lock between calls.
        inside: bool,
    },
}

impl Mine {
    /// Returns a ticket that waits.
    #[must_use]
    pub fn new(ticket: Ticket, keep: bool) -> Self {
        Self {
            ticket,
            sent: Vec::new(),
            last: 0,
            late: false,
            keep,
            long: false,
            phase: Phase::Waits { queued: false },
        }
    }

    /// Returns the counter for a request that is sent now.
    pub fn count(&mut self, short: bool) -> u8 {
        self.last += 1;
        self.sent.push(Sent {
            counter: self.last,
            age: 0,
            short,
        });
        self.last
    }

    /// Returns the request `counter`, if it is known when it was sent.
    #[must_use]
    pub fn sent(&self, counter: u8) -> Option<&Sent> {
        self.sent.iter().find(|sent| sent.counter == counter)
    }

    /// The store has executed request `counter`, so the member forgets when earlier requests were sent.
    pub fn executed(&mut self, counter: u8) {
        self.sent.retain(|sent| sent.counter >= counter);
    }
}
