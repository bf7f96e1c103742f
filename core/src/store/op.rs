//! [`Op`]: an operation on a name.

use std::sync::Arc;
use std::time::Duration;

use super::{MemberId, SharedStr, Ticket};
use crate::base::error::kind::RW_LOCK;
use crate::base::error::{HoldKind, LockKind};

/// Whether an acquire that cannot be granted at once joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Joins the queue.
    Queue,
    /// Leaves no trace in the store if it is not granted; the reply names the holder.
    Try,
}

/// What a request asks the store to keep for a ticket: its lease if it holds, its place if it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who asks.
    pub ticket: Ticket,
    /// The number of the request, among those of the ticket.
    pub counter: u64,
    /// How long the lease lasts.
    pub hold: Duration,
    /// How long the place in the queue lasts.
    pub place: Duration,
}

impl Lease {
    /// A lease and a place that last for the same time.
    pub const fn of(ticket: Ticket, counter: u64, time: Duration) -> Self {
        Self {
            ticket,
            counter,
            hold: time,
            place: time,
        }
    }
}

/// The units that an acquire asks for, and the lock that they are part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The kind of lock.
    pub kind: LockKind,
    /// How many units.
    pub units: u32,
    /// Zero if only signals are granted.
    pub capacity: u32,
    /// The escaped owner; empty without an owner. Tickets of one owner share a hold in the whole cluster.
    pub owner: SharedStr,
}

impl Share {
    /// The only unit of a mutex.
    pub const MUTEX: Self = Self::new(LockKind::Mutex, 1, 1);
    /// A reader's share of a readers-writer lock.
    pub const READER: Self = Self::new(LockKind::RwLock, 1, RW_LOCK);
    /// A writer's share of a readers-writer lock.
    pub const WRITER: Self = Self::new(LockKind::RwLock, RW_LOCK, RW_LOCK);
    /// A notification of a condition variable.
    pub const NOTIFICATION: Self = Self::new(LockKind::Condvar, 1, 0);

    /// Some permits of a semaphore.
    pub const fn permits(units: u32, permits: u32) -> Self {
        Self::new(LockKind::Semaphore, units, permits)
    }

    const fn new(kind: LockKind, units: u32, capacity: u32) -> Self {
        Self {
            kind,
            units,
            capacity,
            owner: SharedStr::EMPTY,
        }
    }

    /// Some units of a lock without signals.
    #[cfg(any(test, feature = "test-util"))]
    pub const fn of(units: u32, capacity: u32) -> Self {
        match capacity {
            1 => Self::new(LockKind::Mutex, units, 1),
            _ => Self::new(LockKind::RwLock, units, capacity),
        }
    }

    /// The kind of hold that these units make.
    pub fn hold_kind(&self) -> HoldKind {
        HoldKind::of(self.kind, self.units)
    }

    /// Whether the ticket accepts a signal instead of the units.
    pub fn takes(&self) -> bool {
        match self.kind {
            LockKind::Mutex | LockKind::RwLock => false,
            LockKind::Semaphore => self.units == 1,
            LockKind::Condvar => true,
        }
    }

    /// Whether no other ticket can hold at the same time: no unit is left for it, and it can get neither a signal nor a
    /// share of the hold.
    pub fn excludes_all(&self) -> bool {
        let whole = self.units == self.capacity && self.kind != LockKind::Semaphore;
        whole && self.owner.is_empty()
    }
}

/// The kind of signal that [`Op::Signal`] adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A token, kept until a ticket takes it. The store adds it only once for each `ticket` of [`Op::Signal`].
    Token(Arc<str>),
    /// A signal for the first waiter, if there is one.
    One,
    /// A signal for each waiter.
    All,
}

/// One operation on a name. Durations are whole milliseconds on the wire.
#[derive(Clone, Debug)]
pub enum Op {
    /// Asks for units.
    Acquire {
        /// The lease of a grant, and the place in the queue.
        lease: Lease,
        /// What is asked for.
        share: Share,
        /// Whether to wait.
        mode: Mode,
        /// The requester: see [`meta`](super::meta). Opaque to the store.
        meta: SharedStr,
    },
    /// Renews a lease or a place.
    Touch {
        /// The new lease, and the new place.
        lease: Lease,
        /// The units that a holder keeps; it gives back all others. Zero: it keeps all.
        units: u32,
    },
    /// Gives a hold or a place back.
    Release {
        /// Whose.
        ticket: Ticket,
        /// How long the released ticket stays and blocks other grants (`at_least`); zero: it does not stay.
        park: Duration,
        /// Whether the store leaves a tombstone, because a copy of an acquire may still arrive.
        tomb: bool,
        /// The token of the grant whose signal was used; zero: none. The signal of any other grant goes to the next waiter.
        used: u64,
    },
    /// Moves the hold of `old` to the ticket of `lease`.
    Adopt {
        /// The holder until now.
        old: Ticket,
        /// The holder from now on.
        lease: Lease,
        /// The requester: see [`meta`](super::meta).
        meta: SharedStr,
    },
    /// Removes the holders of `owner`, or all holders if `owner` is empty.
    Force {
        /// Whose holds; empty: all.
        owner: SharedStr,
    },
    /// Removes the holders with this token, and no newer ones.
    Kick {
        /// The token of the grant.
        token: u64,
        /// Who removes them: see [`meta`](super::meta). Kept for operators, if there was such a holder.
        by: SharedStr,
    },
    /// Notifies the holders of `owner` that their `expire` starts again.
    Refresh {
        /// The owner whose holders are notified.
        owner: SharedStr,
        /// How long it lasts from now on.
        expire: Duration,
    },
    /// Raises the token of a holder to `token`, or to the next unused token if that is higher. The servers of a quorum
    /// use this operation to agree on one token for one grant.
    Raise {
        /// The holder.
        ticket: Ticket,
        /// The least token.
        token: u64,
    },
    /// Adds a signal.
    Signal {
        /// Unique for ever, so that the store executes the operation once.
        ticket: Ticket,
        /// Which one.
        signal: Signal,
    },
    /// Sends a message to another member. Reads and changes no state of the name.
    Probe {
        /// The member that gets the message.
        to: MemberId,
        /// The message.
        text: SharedStr,
    },
    /// Deletes the name, unless it is in use.
    Delete,
    /// Reads the state of the name.
    Inspect {
        /// The reply lists the waiters only if some may ask for more units than this; zero: in any case.
        above: u32,
    },
}

impl Op {
    /// The lease that the operation asks for, if it asks for one.
    pub fn lease(&self) -> Option<Lease> {
        match *self {
            Self::Acquire { lease, .. } | Self::Touch { lease, .. } | Self::Adopt { lease, .. } => {
                Some(lease)
            }
            _ => None,
        }
    }

    /// The ticket of the operation, if it has one.
    pub fn ticket(&self) -> Option<Ticket> {
        match *self {
            Self::Release { ticket, .. }
            | Self::Raise { ticket, .. }
            | Self::Signal { ticket, .. } => Some(ticket),
            _ => self.lease().map(|lease| lease.ticket),
        }
    }
}

/// Converts to whole milliseconds, the unit of durations in the protocol.
pub fn millis(duration: Duration) -> u64 {
    // The limit is far beyond every lease. In microseconds and added to a time, it is still exact as a number of Lua.
    const MOST: u128 = 1 << 42;
    duration.as_millis().min(MOST) as u64
}
