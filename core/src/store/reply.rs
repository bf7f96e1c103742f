//! [`Reply`]: the answer of a store to a request. [`Message`]: a message of a store to a member.

use std::sync::Arc;
use std::time::Duration;

use super::limits::TOKENS_OF_A_GRANT;
use super::{MemberId, SharedStr, Ticket};

/// The answer of a store to an [`Op`](super::Op).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The ticket holds, for the `hold` of the request. `token` is the fencing time in microseconds.
    Granted {
        /// The fencing token of the grant.
        token: u64,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket waits at `position` (from 1) and should touch again after `again`.
    Queued {
        /// The place in the queue.
        position: u64,
        /// When to ask again at the latest.
        again: Duration,
        /// Who holds the lock.
        holder: Option<HolderRecord>,
    },
    /// `Mode::Try` only: not granted, since the name is in use.
    Busy {
        /// Who holds the lock.
        holder: Option<HolderRecord>,
    },
    /// A tombstone refuses the ticket: it was released or cancelled.
    Refused,
    /// The request exceeds the capacity.
    TooMany,
    /// The name is in use with another capacity.
    Mismatch {
        /// The capacity that the lock has.
        capacity: u32,
        /// Whether the tickets of the name accept signals.
        takes: bool,
    },
    /// The store does not know the ticket. For `Op::Raise`: the ticket does not hold.
    Gone,
    /// The release ended a hold. `free`: the units and signals that are available now.
    Released {
        /// The units that are free.
        free: u64,
    },
    /// The release ended a wait.
    Cancelled,
    /// How many holders a force or a kick dropped, how many were notified or received a probe, how many signals were added,
    /// or how many names were deleted: none if there was nothing to delete.
    Count(u64),
    /// The name was not deleted, because it is in use.
    InUse {
        /// How many hold the lock.
        holders: u64,
        /// How many wait for it.
        waiters: u64,
    },
    /// The state of the name.
    Info(NameRecord),
}

impl Reply {
    /// How many holders were freed or told, or how many signals were added; 0 for another reply.
    pub fn count(&self) -> u64 {
        match *self {
            Self::Count(count) => count,
            _ => 0,
        }
    }

    /// What the store knows about the name; nothing for another reply.
    pub fn into_record(self) -> NameRecord {
        match self {
            Self::Info(record) => record,
            _ => NameRecord::default(),
        }
    }
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderRecord {
    /// The fencing token.
    pub token: u64,
    /// What the holder says about itself: see [`meta`](super::meta).
    pub meta: SharedStr,
}

/// A ticket in the reply to `Op::Inspect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketRecord {
    /// The ticket.
    pub ticket: Ticket,
    /// Its member.
    pub member: MemberId,
    /// The units that it holds or asks for.
    pub units: u32,
    /// Whether the ticket accepts a signal instead of units.
    pub takes: bool,
    /// Since when the ticket holds or waits, in microseconds.
    pub since: u64,
    /// Zero for a waiter.
    pub token: u64,
    /// What its member says about it: see [`meta`](super::meta).
    pub meta: SharedStr,
    /// How long the lease of a holder or the place of a waiter still lasts.
    pub left: Duration,
    /// Whether it was released, and only keeps the lock for a while (`at_least`).
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
    /// The last kick, unless it was long ago.
    pub kick: Option<Box<KickRecord>>,
    /// The holders, in order of token.
    pub holders: Vec<TicketRecord>,
    /// The waiters, in order of place.
    pub waiters: Vec<TicketRecord>,
}

/// The last hold of a name that a kick ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KickRecord {
    /// When it was, in microseconds.
    pub at: u64,
    /// The token of the hold.
    pub token: u64,
    /// Who did it: see [`meta`](super::meta).
    pub by: SharedStr,
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
    /// The ticket holds the lock.
    Grant {
        /// The ticket.
        ticket: Ticket,
        /// The fencing token.
        token: u64,
        /// The number of the request that asked for it.
        counter: u64,
        /// How long the lease lasts.
        hold: Duration,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket is one of the first in the queue, and has to ask more often.
    Near {
        /// The ticket.
        ticket: Ticket,
    },
    /// The hold has ended.
    Lost {
        /// The ticket.
        ticket: Ticket,
    },
    /// Something has changed: the member must touch the ticket.
    Ask {
        /// The ticket.
        ticket: Ticket,
    },
    /// The ticket's `expire` starts again now.
    Refresh {
        /// The ticket.
        ticket: Ticket,
        /// How long it lasts from now on.
        expire: Duration,
    },
    /// A message from another member: see [`Op::Probe`](super::Op::Probe).
    Probe {
        /// The member that sends it.
        from: MemberId,
        /// The message.
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
