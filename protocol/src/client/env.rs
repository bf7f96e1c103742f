//! [`Env`]: what a transition depends on, beside the state of its name and the input.

use core::time::Duration;

use crate::{Closed, Instant, Limits, StoreError, Ticket};

/// What one transition reads. Whoever runs the state makes it for each input.
pub struct Env<'a> {
    /// The client's time.
    pub now: Instant,
    /// The durations of the protocol.
    pub limits: &'a Limits,
    /// The durations of the client.
    pub client: &'a ClientTimes,
    /// What the client does.
    pub view: View,
    /// Since when the server of the name is unreachable, and why.
    pub outage: Option<(Instant, StoreError)>,
    /// Until when the server of the name grants nothing, and why.
    pub closed: Option<Closed>,
    /// Makes a new ticket.
    pub ticket: &'a mut dyn FnMut() -> Ticket,
}

/// The durations that a client has been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientTimes {
    /// How long the store keeps a holder without a touch.
    pub lease: Duration,
    /// All holds of a client are renewed at multiples of this time, so that their renewals form one batch.
    pub beat: Duration,
    /// How long a call tolerates a store that does not answer.
    pub store_timeout: Duration,
    /// How often, and for how long after a grant, a lease is passed on to the next waiter of this process.
    pub handoff: (u32, Duration),
    /// Whether the calls take no units, because the program was told to skip its locks.
    pub skips: bool,
}

impl ClientTimes {
    /// The lease to ask for.
    #[inline]
    pub(super) fn lease_of(&self, expire: Option<Duration>) -> Duration {
        expire.map_or(self.lease, |expire| expire.min(self.lease))
    }

    /// How long `try_lock` and similar calls wait for the store's answer.
    pub fn moment(&self, limits: &Limits) -> Duration {
        self.store_timeout.min(limits.brief)
    }

    /// The next renewal of all holds.
    #[inline]
    pub fn renewal_after(&self, now: Instant) -> Instant {
        now.next_multiple(self.beat)
    }
}

/// What a client does, from its beginning to its end. No phase comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// It takes calls.
    #[default]
    Open,
    /// It takes no new locks. Bodies continue, and may take nested locks.
    Draining,
    /// It fails its calls, and releases its locks.
    Closing,
    /// It sends nothing any more.
    Closed,
    /// Its background thread has panicked.
    Broken,
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Open,
        Self::Draining,
        Self::Closing,
        Self::Closed,
        Self::Broken,
    ];

    /// A number for an atomic: see [`from_number`](Self::from_number).
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The phase with this [`number`](Self::number).
    #[inline]
    pub fn from_number(number: u8) -> Self {
        let phase = Self::ALL.get(usize::from(number));
        phase.copied().unwrap_or(Self::Broken)
    }

    /// Whether it refuses even the calls of running bodies.
    #[inline]
    pub fn is_over(self) -> bool {
        self >= Self::Closing
    }
}

/// The most names that a client keeps.
const MOST_KEPT: usize = 1024;

/// What a client does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// Whether it takes new calls.
    pub is_open: bool,
    /// Whether it refuses even the calls of running bodies.
    pub is_over: bool,
    /// Whether locks may be kept after calls.
    pub may_keep: bool,
    /// Whether it keeps as many names as it may.
    pub keeps_most: bool,
}

impl View {
    /// Of a client that keeps so many names. It may be leaving: its last handle was dropped, or its process is ending.
    #[inline]
    pub fn of(phase: Phase, is_leaving: bool, kept: usize) -> Self {
        let is_open = phase == Phase::Open;
        Self {
            is_open,
            is_over: phase.is_over(),
            may_keep: is_open && !is_leaving,
            keeps_most: kept >= MOST_KEPT,
        }
    }
}
