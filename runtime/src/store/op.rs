//! What a store is asked for: [`Op`].

use std::sync::Arc;
use std::time::Duration;

use super::{Text, Ticket};
use crate::error::kind::RW_LOCK;

/// Whether an acquire that does not fit joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Joins the queue.
    Queue,
    /// Leaves nothing behind and says who holds.
    Try,
}

/// What an acquire asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) units: u32,
    /// Zero: nothing but signals is handed out.
    pub(crate) capacity: u32,
    /// A waiting signal will do instead of the unit.
    pub(crate) takes: bool,
    /// Holders of the same owner share one hold, in the whole cluster. Escaped; empty: nobody's.
    pub(crate) owner: Text,
}

impl Share {
    /// Some units of a capacity, for nobody in particular.
    pub(crate) fn of(units: u32, capacity: u32) -> Self {
        Self {
            units,
            capacity,
            takes: false,
            owner: Text::default(),
        }
    }

    /// Whether nobody has anything beside it: not another unit, nor a signal, nor as the same owner.
    pub(crate) fn excludes_all(&self) -> bool {
        let whole = self.units == self.capacity && matches!(self.capacity, 1 | RW_LOCK);
        whole && !self.takes && self.owner.is_empty()
    }

    /// Whether it asks for some units of those that there are.
    pub(crate) fn fits(&self) -> bool {
        (1..=self.capacity).contains(&self.units)
    }
}

/// What [`Op::Signal`] adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A token, kept until somebody takes it. Not more than once for the same ticket.
    Token(Arc<str>),
    /// One for the first waiter, if anybody waits.
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
        meta: Text,
    },
    Touch {
        ticket: Ticket,
        counter: u64,
        /// A holder gives back what it has beyond these; zero: it keeps what it has.
        units: u32,
        hold: Duration,
        place: Duration,
    },
    Release {
        ticket: Ticket,
        /// How long the ticket stays in the store, held by nobody (`at_least`); zero: not at all.
        park: Duration,
        /// Leave a tombstone: a copy of an acquire may still arrive.
        tomb: bool,
        /// The fencing time of the grant whose signal was used; that of any other grant goes to the next. Zero: none was.
        used: u64,
    },
    /// `ticket` takes the place of `old`, which holds.
    Adopt {
        old: Ticket,
        ticket: Ticket,
        counter: u64,
        hold: Duration,
        place: Duration,
        /// Who asks: see [`Meta`].
        meta: Text,
    },
    /// Drops the holders: those of `owner`, or all of them if it is empty.
    Force {
        owner: Text,
    },
    /// Tells the holders of `owner` that their `expire` counts again.
    Refresh {
        owner: Text,
        expire: Duration,
    },
    /// The fencing time of a holder becomes `token`, or the next one that was not given: what other servers shall have for
    /// the same grant.
    Raise {
        ticket: Ticket,
        token: u64,
    },
    Signal {
        /// Unique for ever, so that it is executed once.
        ticket: Ticket,
        signal: Signal,
    },
    /// Forgets the name, unless it is in use.
    Delete,
    Inspect,
}

impl Op {
    /// The ticket that this is about, if it is about one.
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
