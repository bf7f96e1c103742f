//! What the memory store keeps of one ticket.

use std::sync::Arc;
use std::time::Duration;

use crate::store::{MemberId, Text};

/// What kind of holder a ticket is; a waiter is plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Plain,
    /// Granted by somebody else's operation and not claimed yet.
    Provisional,
    /// Released, but kept until its `at_least` is over.
    Parked,
}

/// The record of a ticket, as in `docs/protocol.md`; `heard`, `told` and `token` are microseconds.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) place: u64,
    pub(super) units: u32,
    /// A signal will do instead of the units.
    pub(super) takes: bool,
    /// What it holds instead of the units, and the number of that signal.
    pub(super) signal: Option<(u64, Arc<str>)>,
    /// Empty: nobody's.
    pub(super) owner: Text,
    pub(super) hold_ms: u64,
    pub(super) place_ms: u64,
    pub(super) counter: u64,
    pub(super) heard: u64,
    pub(super) told: u64,
    pub(super) token: u64,
    pub(super) flag: Flag,
    pub(super) member: MemberId,
    pub(super) meta: Text,
}

impl Record {
    pub(super) fn is_parked(&self) -> bool {
        self.flag == Flag::Parked
    }

    /// What it takes of the capacity, if it is not covered by another holder of the same owner.
    pub(super) fn weight(&self) -> u64 {
        if self.signal.is_some() {
            0
        } else {
            u64::from(self.units)
        }
    }
}

/// Durations travel in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4_000_000)
}
