//! A common form for the replies, messages and states of both stores, in the model's terms, with times in ticks.

use auto_mutex_model::network::{self, Fence, Retain};

/// The outcome of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) reply: Said,
    /// The messages, in the order in which they were sent.
    pub(super) told: Vec<Told>,
    pub(super) state: View,
}

/// A reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Granted(Fence),
    Queued {
        position: u64,
        again_ms: u64,
        holder: Option<Fence>,
    },
    Gone,
    Refused,
    Released {
        free: u64,
    },
    Cancelled,
}

/// A message, and its receiver.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Grant {
        member: u8,
        ticket: network::Ticket,
        token: Fence,
        counter: u64,
        hold_ms: u64,
    },
    /// Another member waits for what the ticket keeps.
    Recall { member: u8, ticket: network::Ticket },
    /// The ticket is one of the first waiters.
    Near { member: u8, ticket: network::Ticket },
}

/// The state of the name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) capacity: Option<u32>,
    pub(super) last: Fence,
    /// In the order of their places.
    pub(super) tickets: Vec<Known>,
    /// In the order of the tickets.
    pub(super) gone: Vec<(network::Ticket, u64)>,
}

/// A ticket.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) ticket: network::Ticket,
    pub(super) counter: u64,
    pub(super) hold: u64,
    pub(super) retain: Retain,
    pub(super) is: Is,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Is {
    Holder {
        left: u64,
        token: Fence,
    },
    /// Another ticket's operation granted this ticket, which has not claimed yet and still has its place.
    Provisional {
        left: u64,
        token: Fence,
        place: u64,
    },
    Waiting {
        place: u64,
        /// Ticks since the notification, at most one more than a claim may take.
        notified: Option<u64>,
    },
    PassedOver {
        place: u64,
    },
}
