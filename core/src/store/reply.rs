//! [`Reply`]: the answer of a store to a request. [`Message`]: a message of a store to a member.

use std::sync::Arc;
use std::time::Duration;

use super::limits::TOKENS_OF_A_GRANT;
use super::{MemberId, SharedStr, Ticket};

/// The answer of a store to an [`Op`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
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
        /// Whether the tickets of the name accept signals.
        takes: bool,
    },
    /// The store does not know the ticket. For `Op::Raise`: the ticket does not hold.
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
    /// `existed`: whether there was something to delete.
    Deleted {
        existed: bool,
    },
    /// The name was not deleted, because it is in use.
    InUse {
        holders: u64,
        waiters: u64,
    },
    Info(NameRecord),
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderRecord {
    pub token: u64,
    pub meta: SharedStr,
}

/// A ticket in the reply to `Op::Inspect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketRecord {
    pub ticket: Ticket,
    pub member: MemberId,
    pub units: u32,
    /// Whether the ticket accepts a signal instead of units.
    pub takes: bool,
    /// Since when the ticket holds or waits, in microseconds.
    pub since: u64,
    /// Zero for a waiter.
    pub token: u64,
    pub meta: SharedStr,
    /// How long the lease of a holder or the place of a waiter still lasts.
    pub left: Duration,
    pub parked: bool,
    /// Whether the store passed over this waiter, because the waiter was silent.
    pub passed_over: bool,
}

/// The state of a name in the reply to `Op::Inspect`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameRecord {
    /// The last fencing token that was given, in microseconds; zero if it is forgotten.
    pub token: u64,
    /// `None` if there are neither holders nor waiters.
    pub capacity: Option<u32>,
    /// Units in use.
    pub used: u64,
    /// Signals that are available.
    pub signals: u64,
    /// Whether the name was used, and not deleted since.
    pub exists: bool,
    /// The holders, in order of token.
    pub holders: Vec<TicketRecord>,
    /// The waiters, in order of place.
    pub waiters: Vec<TicketRecord>,
}

impl NameRecord {
    /// The last fencing token that was given, as callers see it; `None` if it is forgotten.
    pub fn last_token(&self) -> Option<u64> {
        (self.token > 0).then(|| self.token.saturating_mul(TOKENS_OF_A_GRANT))
    }

    /// Whether the first ticket of the name accepts a signal instead of a unit. Together with the capacity, this shows the
    /// kind of lock.
    pub fn takes(&self) -> bool {
        let mut tickets = self.holders.iter().chain(&self.waiters);
        tickets.next().is_some_and(|ticket| ticket.takes)
    }
}

/// A message on a member's channel. It is a hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
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
    /// Something has changed: the member must touch the ticket.
    Ask {
        ticket: Ticket,
    },
    /// The ticket's `expire` starts again now.
    Refresh {
        ticket: Ticket,
        expire: Duration,
    },
    /// A message from another member: see [`Op::Probe`](super::Op::Probe).
    Probe {
        from: MemberId,
        text: Arc<str>,
    },
}

impl Message {
    /// The ticket that the message is about, if it is about one.
    pub fn ticket(&self) -> Option<Ticket> {
        match *self {
            Self::Grant { ticket, .. }
            | Self::Near { ticket }
            | Self::Lost { ticket }
            | Self::Ask { ticket }
            | Self::Refresh { ticket, .. } => Some(ticket),
            Self::Probe { .. } => None,
        }
    }
}
