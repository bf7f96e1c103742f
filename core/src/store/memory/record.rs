//! The memory store's record of a ticket.

use std::sync::Arc;

use crate::store::{MemberId, SharedStr};

/// A waiter is `Plain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Plain,
    /// Granted by another ticket's operation, and not claimed by the holder's member yet.
    Provisional,
    /// Released, but kept until its `at_least` is over.
    Parked,
}

/// As in `docs/protocol.md`; `place`, `heard`, `told` and `token` are times in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) place: u64,
    pub(super) units: u32,
    pub(super) takes: bool,
    /// Held instead of units.
    pub(super) signal: Option<(u64, Arc<str>)>,
    pub(super) owner: SharedStr,
    pub(super) hold_ms: u64,
    pub(super) place_ms: u64,
    pub(super) counter: u64,
    pub(super) heard: u64,
    pub(super) told: u64,
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

    pub(super) fn place_ends(&self) -> u64 {
        self.heard + self.place_ms * 1000
    }

    /// Unless another holder of the same owner covers them.
    pub(super) fn weight(&self) -> u64 {
        if self.signal.is_some() {
            0
        } else {
            u64::from(self.units)
        }
    }
}
