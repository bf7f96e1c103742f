//! What both stores say and have, in the same words: those of the model, with times in ticks.

use auto_mutex_model::network::{self, Fence};

/// What a step led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) reply: Said,
    /// In order.
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

/// A message, and to whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Grant {
        member: u8,
        ticket: network::Ticket,
        token: Fence,
        counter: u64,
        hold_ms: u64,
    },
    /// It is among the first.
    Near { member: u8, ticket: network::Ticket },
}

/// The state of the name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) capacity: Option<u32>,
    pub(super) last: Fence,
    /// In order of place.
    pub(super) tickets: Vec<Known>,
    /// In order of ticket.
    pub(super) gone: Vec<(network::Ticket, u64)>,
}

/// A ticket.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) ticket: network::Ticket,
    pub(super) counter: u64,
    pub(super) is: Is,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Is {
    Holder {
        left: u64,
        token: Fence,
    },
    /// It has not claimed; then its place counts.
    Provisional {
        left: u64,
        token: Fence,
        place: u64,
    },
    Waiting {
        place: u64,
        /// Up to a tick longer than a claim.
        notified: Option<u64>,
    },
    PassedOver {
        place: u64,
    },
}
