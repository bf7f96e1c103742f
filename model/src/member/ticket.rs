//! What a member knows of the ticket that waits or holds.

use crate::network::{Ticket, Token};

/// When a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    /// Its counter.
    pub counter: u8,
    /// How long ago.
    pub age: u8,
}

/// A ticket that waits or holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mine {
    /// Which one.
    pub ticket: Ticket,
    /// What was sent and can still be answered.
    pub sent: Vec<Sent>,
    /// The last counter.
    pub last: u8,
    /// An acquire was not answered on a connection that broke: a copy may still arrive.
    pub late: bool,
    /// How far it is.
    pub phase: Phase,
}

/// How far a ticket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It waits.
    Waits {
        /// The store has said so.
        queued: bool,
    },
    /// It was granted.
    Holds {
        /// By the store, with this token.
        token: Token,
        /// Answers to this counter and those before it are older than the grant.
        granted: u8,
        /// For how long it may be believed.
        left: u8,
    },
}

impl Mine {
    /// A counter for a sending now.
    pub fn count(&mut self) -> u8 {
        self.last += 1;
        self.sent.push(Sent {
            counter: self.last,
            age: 0,
        });
        self.last
    }

    /// How long ago `counter` was sent, if that is known.
    #[must_use]
    pub fn age(&self, counter: u8) -> Option<u8> {
        let mut sent = self.sent.iter();
        sent.find(|sent| sent.counter == counter)
            .map(|sent| sent.age)
    }

    /// `counter` was executed: no earlier sending will be answered with its own time.
    pub fn executed(&mut self, counter: u8) {
        self.sent.retain(|sent| sent.counter >= counter);
    }
}
