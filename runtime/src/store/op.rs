//! [`Op`]: an operation on a name.

use std::sync::Arc;
use std::time::Duration;

use super::{SharedStr, Ticket};
use crate::error::kind::RW_LOCK;

/// Whether an acquire that does not fit joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Joins the queue.
    Queue,
    /// Does not stay in the store; the reply names the holder.
    Try,
}

/// What an acquire asks for, and of how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) units: u32,
    /// Zero: only signals are granted.
    pub(crate) capacity: u32,
    /// A signal is as good as the units.
    pub(crate) takes: bool,
    /// Tickets of one owner share a hold, in the whole cluster. Escaped; empty: no owner.
    pub(crate) owner: SharedStr,
}

impl Share {
    /// Some units of a capacity, without an owner.
    pub(crate) fn of(units: u32, capacity: u32) -> Self {
        Self {
            units,
            capacity,
            takes: false,
            owner: SharedStr::default(),
        }
    }

    /// Whether no other ticket can hold beside it: neither units, nor a signal, nor as the same owner.
    pub(crate) fn excludes_all(&self) -> bool {
        let whole = self.units == self.capacity && matches!(self.capacity, 1 | RW_LOCK);
        whole && !self.takes && self.owner.is_empty()
    }

    /// Whether the capacity has as many units.
    pub(crate) fn fits(&self) -> bool {
        (1..=self.capacity).contains(&self.units)
    }
}

/// What [`Op::Signal`] adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A token, kept until a ticket takes it. Added only once for the same ticket.
    Token(Arc<str>),
    /// One for the first waiter, if there is one.
    One,
    /// One for each waiter.
    All,
}

/// One operation on a name. Durations are whole milliseconds on the wire.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Acquire {
        ticket: Ticket,
        counter: u64,
        share: Share,
        hold: Duration,
        place: Duration,
        mode: Mode,
        /// Who asks: see [`Meta`]. Opaque to the store.
        meta: SharedStr,
    },
    Touch {
        ticket: Ticket,
        counter: u64,
        /// A holder gives back the units that it has beyond these; zero: none.
        units: u32,
        hold: Duration,
        place: Duration,
    },
    Release {
        ticket: Ticket,
        /// How long the released ticket stays, so that no other is granted (`at_least`); zero: not at all.
        park: Duration,
        /// Leave a tombstone: a copy of an acquire may still arrive.
        tomb: bool,
        /// The fencing time of the grant whose signal was used; the signal of any other grant goes to the next waiter. Zero: none.
        used: u64,
    },
    /// The hold of `old` goes to `ticket`.
    Adopt {
        old: Ticket,
        ticket: Ticket,
        counter: u64,
        hold: Duration,
        place: Duration,
        /// Who asks: see [`Meta`].
        meta: SharedStr,
    },
    /// Drops the holders: those of `owner`, or all of them if it is empty.
    Force {
        owner: SharedStr,
    },
    /// Notifies the holders of `owner` that their `expire` starts again.
    Refresh {
        owner: SharedStr,
        expire: Duration,
    },
    /// The fencing time of a holder becomes `token`, or the next one that was not given: the servers of a quorum give one token for
    /// one grant.
    Raise {
        ticket: Ticket,
        token: u64,
    },
    Signal {
        /// Unique for ever, so that the store executes it once.
        ticket: Ticket,
        signal: Signal,
    },
    /// Deletes the name, unless it is in use.
    Delete,
    Inspect,
}

impl Op {
    /// The ticket of the operation, if it has one.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Acquire { ticket, .. }
            | Self::Touch { ticket, .. }
            | Self::Adopt { ticket, .. }
            | Self::Release { ticket, .. }
            | Self::Raise { ticket, .. }
            | Self::Signal { ticket, .. } => Some(*ticket),
            Self::Force { .. } | Self::Refresh { .. } | Self::Delete | Self::Inspect => None,
        }
    }
}
