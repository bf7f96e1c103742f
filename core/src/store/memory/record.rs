//! The memory store's record of a ticket.

use std::sync::Arc;

use crate::store::{MemberId, SharedStr};

/// The state of a holder; a waiter is `Plain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Plain,
    /// The operation of another ticket granted the hold, and the holder's member has not claimed it yet.
    Provisional,
    /// The holder was released, but is kept until its `at_least` is over.
    Parked,
}

/// The record of a ticket, as in `docs/protocol.md`; `place`, `heard`, `told` and `token` are times in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) place: u64,
    pub(super) units: u32,
    /// Whether the ticket accepts a signal instead of units.
    pub(super) takes: bool,
    /// The signal that the ticket holds instead of units, with the number of the signal.
    pub(super) signal: Option<(u64, Arc<str>)>,
    /// Empty if the ticket has no owner.
    pub(super) owner: SharedStr,
    pub(super) hold_ms: u64,
    pub(super) place_ms: u64,
    pub(super) counter: u64,
    pub(super) heard: u64,
    pub(super) told: u64,
    /// Zero for a waiter.
    pub(super) token: u64,
    pub(super) flag: Flag,
    pub(super) member: MemberId,
    pub(super) meta: SharedStr,
}

impl Record {
    pub(super) fn is_parked(&self) -> bool {
        self.flag == Flag::Parked
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.token == 0
    }

    /// When the ticket's place in the queue ends, unless the member touches the ticket before.
    pub(super) fn place_ends(&self) -> u64 {
        self.heard + self.place_ms * 1000
    }

    /// The units that the ticket uses, unless another holder of the same owner covers them.
    pub(super) fn weight(&self) -> u64 {
        if self.signal.is_some() {
            0
        } else {
            u64::from(self.units)
        }
    }
}
