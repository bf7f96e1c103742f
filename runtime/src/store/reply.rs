//! What a store says: [`Reply`] to who asked, [`Message`] to who did not.

use std::sync::Arc;
use std::time::Duration;

use super::{MemberId, Text, Ticket};

/// What the store answers to an [`Op`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The ticket holds, for the `hold` of the request. `token` is the fencing time in microseconds.
    Granted {
        token: u64,
        /// What it was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket waits at `position` (from 1) and should touch again after `again`.
    Queued {
        position: u64,
        again: Duration,
        holder: Option<HolderRecord>,
    },
    /// `Mode::Try` only: it does not fit now.
    Busy {
        holder: Option<HolderRecord>,
    },
    /// A tombstone: this ticket was released or cancelled.
    Refused,
    /// More units than the capacity.
    TooMany,
    /// The name has another capacity at present.
    Mismatch {
        capacity: u32,
    },
    /// A touch or release of a ticket that the store does not know (any more).
    Gone,
    /// The release ended a hold. `free`: what can be had now, signals included.
    Released {
        free: u64,
    },
    /// The release ended a wait.
    Cancelled,
    /// How many holders a force dropped.
    Freed {
        holders: u64,
    },
    /// How many holders were told.
    Told {
        holders: u64,
    },
    /// How many signals were added.
    Signalled {
        count: u64,
    },
    /// `existed`: there was something to forget.
    Deleted {
        existed: bool,
    },
    /// Not deleted: it is in use.
    InUse {
        holders: u64,
        waiters: u64,
    },
    Info(NameRecord),
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderRecord {
    pub(crate) token: u64,
    pub(crate) meta: Text,
}

/// A ticket as `Op::Inspect` reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TicketRecord {
    pub(crate) ticket: Ticket,
    pub(crate) member: MemberId,
    pub(crate) units: u32,
    /// Zero for a waiter.
    pub(crate) token: u64,
    pub(crate) meta: Text,
    /// Until the lease (of a holder) or the place (of a waiter) ends, if nobody renews it.
    pub(crate) left: Duration,
    pub(crate) parked: bool,
}

/// The state of a name as `Op::Inspect` reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameRecord {
    /// The last fencing time handed out, in microseconds; zero if forgotten.
    pub(crate) token: u64,
    /// `None` when nobody holds or waits.
    pub(crate) capacity: Option<u32>,
    /// Units of the capacity that are taken.
    pub(crate) used: u64,
    /// Signals that wait for somebody to take them.
    pub(crate) signals: u64,
    /// It was used, and not deleted since.
    pub(crate) exists: bool,
    /// In order of token.
    pub(crate) holders: Vec<TicketRecord>,
    /// In order of place.
    pub(crate) waiters: Vec<TicketRecord>,
}

/// What a member is told on its channel. A hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Grant {
        ticket: Ticket,
        token: u64,
        counter: u64,
        hold: Duration,
        /// What was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    Near {
        ticket: Ticket,
    },
    Lost {
        ticket: Ticket,
    },
    /// Something has changed: ask again.
    Ask {
        ticket: Ticket,
    },
    /// `expire` counts again from now.
    Refresh {
        ticket: Ticket,
        expire: Duration,
    },
}
