//! [`Reply`]: what a store answers to a request; [`Message`]: what it sends to a member without a request.

use std::sync::Arc;
use std::time::Duration;

use super::{MemberId, SharedStr, Ticket};

/// The answer of a store to an [`Op`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The ticket holds, for the `hold` of the request. `token` is the fencing time in microseconds.
    Granted {
        token: u64,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket waits at `position` (from 1) and should touch again after `again`.
    Queued {
        position: u64,
        again: Duration,
        holder: Option<HolderRecord>,
    },
    /// `Mode::Try` only: not granted, since the name is in use.
    Busy {
        holder: Option<HolderRecord>,
    },
    /// A tombstone refuses the ticket: it was released or cancelled.
    Refused,
    /// The request exceeds the capacity.
    TooMany,
    /// The name is in use with another capacity.
    Mismatch {
        capacity: u32,
        /// Its tickets accept tokens.
        takes: bool,
    },
    /// A touch or release of a ticket that the store does not know.
    Gone,
    /// The release ended a hold. `free`: the units and signals that are available now.
    Released {
        free: u64,
    },
    /// The release ended a wait.
    Cancelled,
    /// How many holders a force or a kick dropped.
    Freed {
        holders: u64,
    },
    /// How many holders were notified, or received a probe.
    Told {
        holders: u64,
    },
    /// How many signals were added.
    Signalled {
        count: u64,
    },
    /// `existed`: there was something to delete.
    Deleted {
        existed: bool,
    },
    /// Not deleted, since it is in use.
    InUse {
        holders: u64,
        waiters: u64,
    },
    Info(NameRecord),
    Order {
        /// The store's time, in microseconds.
        now: u64,
        edges: Vec<OrderRecord>,
        /// For each claim of the request, whether this member has it.
        claimed: Vec<bool>,
    },
}

/// An edge of the lock order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderRecord {
    pub(crate) field: Arc<str>,
    /// Since when the store knows it, in microseconds.
    pub(crate) since: u64,
    pub(crate) text: Arc<str>,
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderRecord {
    pub(crate) token: u64,
    pub(crate) meta: SharedStr,
}

/// A ticket in the reply to `Op::Inspect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TicketRecord {
    pub(crate) ticket: Ticket,
    pub(crate) member: MemberId,
    pub(crate) units: u32,
    /// It accepts a signal instead of units.
    pub(crate) takes: bool,
    /// Since when it holds or waits, in microseconds.
    pub(crate) since: u64,
    /// Zero for a waiter.
    pub(crate) token: u64,
    pub(crate) meta: SharedStr,
    /// How long the lease of a holder or the place of a waiter still lasts.
    pub(crate) left: Duration,
    pub(crate) parked: bool,
    /// A waiter that was silent when it was its turn.
    pub(crate) passed_over: bool,
}

/// The state of a name in the reply to `Op::Inspect`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameRecord {
    /// The last fencing time handed out, in microseconds; zero if forgotten.
    pub(crate) token: u64,
    /// `None` if there are neither holders nor waiters.
    pub(crate) capacity: Option<u32>,
    /// Units in use.
    pub(crate) used: u64,
    /// Signals that are available.
    pub(crate) signals: u64,
    /// The name was used, and not deleted since.
    pub(crate) exists: bool,
    /// In order of token.
    pub(crate) holders: Vec<TicketRecord>,
    /// In order of place.
    pub(crate) waiters: Vec<TicketRecord>,
}

/// A message on a member's channel. It is a hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Grant {
        ticket: Ticket,
        token: u64,
        counter: u64,
        hold: Duration,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    Near {
        ticket: Ticket,
    },
    Lost {
        ticket: Ticket,
    },
    /// Something has changed: touch the ticket.
    Ask {
        ticket: Ticket,
    },
    /// `expire` starts again now.
    Refresh {
        ticket: Ticket,
        expire: Duration,
    },
    /// From another member: see [`Op::Probe`](super::Op::Probe).
    Probe {
        from: MemberId,
        text: Arc<str>,
    },
}
