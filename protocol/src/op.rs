//! [`Op`]: an operation on a name.

use alloc::sync::Arc;
use core::time::Duration;

use super::{HoldKind, LockKind, MemberId, RW_LOCK, SharedStr, Ticket};

/// Whether an acquire that cannot be granted at once joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Joins the queue.
    Queue,
    /// Leaves no trace in the store unless it is granted. The reply names the holder.
    Try,
}

/// What a client does with a lock after a call: see "Retention" in `docs/protocol.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Retain {
    /// Releases it.
    #[default]
    No,
    /// A call is inside. Afterwards the client may keep the lock, so the store must tell it when others wait.
    InUse,
    /// The client keeps the lock, and no call is inside.
    Kept,
}

/// What the store keeps for a ticket: its lease if it holds, its place if it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The ticket that asks.
    pub ticket: Ticket,
    /// The number of this request of the ticket.
    pub counter: u64,
    /// How long the lease lasts.
    pub hold: Duration,
    /// How long the place in the queue lasts.
    pub place: Duration,
    /// What the client does with the lock after a call.
    pub retain: Retain,
}

impl Lease {
    /// A lease and a place of the same length.
    pub const fn of(ticket: Ticket, counter: u64, time: Duration) -> Self {
        Self {
            ticket,
            counter,
            hold: time,
            place: time,
            retain: Retain::No,
        }
    }
}

/// The units that an acquire asks for, and the lock that they are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The kind of lock.
    pub kind: LockKind,
    /// How many units.
    pub units: u32,
    /// Zero if only signals are granted.
    pub capacity: u32,
}

impl Share {
    /// The only unit of a mutex.
    pub const MUTEX: Self = Self::new(LockKind::Mutex, 1, 1);
    /// The only unit of a leader's seat.
    pub const LEADER: Self = Self::new(LockKind::Leader, 1, 1);
    /// A notification of a new leader.
    pub const WATCH: Self = Self::new(LockKind::Leader, 1, 0);
    /// The units of a reader.
    pub const READER: Self = Self::new(LockKind::RwLock, 1, RW_LOCK);
    /// The units of a writer.
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
        }
    }

    /// Some units of a lock without signals.
    pub const fn of(units: u32, capacity: u32) -> Self {
        match capacity {
            1 => Self::new(LockKind::Mutex, units, 1),
            _ => Self::new(LockKind::RwLock, units, capacity),
        }
    }

    /// The kind of hold that they make.
    #[inline]
    pub fn hold_kind(&self) -> HoldKind {
        HoldKind::of(self.kind, self.units)
    }

    /// Whether the ticket accepts a signal instead of the units.
    #[inline]
    pub fn takes(&self) -> bool {
        match self.kind {
            LockKind::Mutex | LockKind::RwLock => false,
            // Zero without units.
            LockKind::Semaphore => self.units <= 1,
            LockKind::Condvar => true,
            LockKind::Leader => self.capacity == 0,
        }
    }

    /// Whether it waits for a notification, which reaches only tickets that are queued when it is sent: once
    /// registered, its waiter must never leave the store's queue.
    #[inline]
    pub fn notifies(&self) -> bool {
        self.capacity == 0 && self.kind != LockKind::Semaphore
    }

    /// The same lock, but none of its units. Does not wait, unless it is for a signal.
    #[inline]
    pub fn without_units(self) -> Self {
        Self {
            // With several permits, no signal is granted instead.
            kind: if self.takes() {
                self.kind
            } else {
                LockKind::Mutex
            },
            units: if self.capacity == 0 { self.units } else { 0 },
            ..self
        }
    }

    /// Whether no other ticket can hold at the same time: no units are left, and it can get no signal. Then one ticket
    /// can serve all waiters of a process. A standby has its own, which has its value.
    #[inline]
    pub fn excludes_all(&self) -> bool {
        let serves_all = !matches!(self.kind, LockKind::Semaphore | LockKind::Leader);
        serves_all && self.units == self.capacity
    }
}

/// The kind of signal that [`Op::Signal`] adds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// A token, kept until a ticket takes it. The store adds it only once per `ticket` of [`Op::Signal`].
    Token(Arc<str>),
    /// A signal for the first waiter, if any.
    One,
    /// A signal for each waiter.
    All,
}

/// An operation on a name. On the wire, durations are whole milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Asks for units.
    Acquire {
        /// The lease of a grant, and the place in the queue.
        lease: Lease,
        /// What is asked for.
        share: Share,
        /// Whether to wait.
        mode: Mode,
        /// The requester: see `docs/protocol.md`. Opaque to the store.
        meta: SharedStr,
    },
    /// Renews a lease or a place.
    Touch {
        /// The new lease, and the new place.
        lease: Lease,
        /// The units that a holder keeps; it releases the others. Zero keeps all.
        units: u32,
    },
    /// Ends a hold or a wait.
    Release {
        /// The ticket that leaves.
        ticket: Ticket,
        /// How long the released ticket stays and blocks other grants (`at_least`); zero if it does not stay.
        park: Duration,
        /// Whether the store leaves a tombstone, because a copy of an acquire may still arrive.
        tomb: bool,
        /// The token of the grant whose signal was used, or zero. An unused signal goes to the next waiter.
        used: u64,
    },
    /// Moves the hold of `old` to the ticket of `lease`.
    Adopt {
        /// The previous holder.
        old: Ticket,
        /// The new holder.
        lease: Lease,
        /// The requester: see `docs/protocol.md`.
        meta: SharedStr,
    },
    /// Removes all holders.
    Force,
    /// Removes the holders with this token, but no newer ones.
    Kick {
        /// The token of the grant.
        token: u64,
        /// Who removes them: see `docs/protocol.md`. Kept for operators if there was such a holder.
        by: SharedStr,
    },
    /// Raises the token of a holder to `token`, or to the next unused token if that is higher. The servers of a quorum
    /// use this to agree on one token for a grant.
    Raise {
        /// The holder.
        ticket: Ticket,
        /// The lowest allowed token.
        token: u64,
    },
    /// Adds a signal.
    Signal {
        /// A new ticket, by which the store executes the operation only once.
        ticket: Ticket,
        /// The signal to add.
        signal: Signal,
    },
    /// Sends a message to another member, and leaves the name as it is.
    Probe {
        /// The member that gets the message.
        to: MemberId,
        /// The message.
        text: SharedStr,
    },
    /// Deletes the name unless it is in use.
    Delete,
    /// Reads the state of the name.
    Inspect {
        /// Lists the waiters only if one of them may ask for more units than this; zero for always.
        above: u32,
    },
}

impl Op {
    /// The lease that the operation asks for, if any.
    #[inline]
    pub fn lease(&self) -> Option<Lease> {
        match *self {
            Self::Acquire { lease, .. } | Self::Touch { lease, .. } | Self::Adopt { lease, .. } => {
                Some(lease)
            }
            _ => None,
        }
    }

    /// The ticket of the operation, if it has one.
    #[inline]
    pub fn ticket(&self) -> Option<Ticket> {
        match *self {
            Self::Release { ticket, .. }
            | Self::Raise { ticket, .. }
            | Self::Signal { ticket, .. } => Some(ticket),
            _ => self.lease().map(|lease| lease.ticket),
        }
    }
}

/// The longest duration: far beyond any lease. In microseconds, and added to a time, Lua still represents it exactly.
pub(crate) const MOST_MS: u64 = 1 << 42;

/// Converts to whole milliseconds, the protocol's unit of durations.
#[inline]
pub const fn millis(duration: Duration) -> u64 {
    let millis = duration.as_millis();
    if millis < MOST_MS as u128 {
        millis as u64
    } else {
        MOST_MS
    }
}
