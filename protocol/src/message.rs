//! [`Message`]: a store's message to a member.

use alloc::sync::Arc;
use core::time::Duration;

use super::{MemberId, Ticket};

/// A message on a member's channel. It is a hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// The ticket is now one of the first in the queue, and must ask more often.
    Near {
        /// The ticket.
        ticket: Ticket,
    },
    /// The hold has ended.
    Lost {
        /// The ticket.
        ticket: Ticket,
    },
    /// Something has changed, and the member must touch the ticket.
    Ask {
        /// The ticket.
        ticket: Ticket,
    },
    /// Another client waits for the lock, so the member must not keep it after the call.
    Recall {
        /// The ticket.
        ticket: Ticket,
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
            | Self::Recall { ticket } => Some(ticket),
            Self::Probe { .. } => None,
        }
    }
}
