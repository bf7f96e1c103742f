//! What the memory store keeps of one ticket.

use std::sync::Arc;
use std::time::Duration;

use super::state::{CLAIM_MS, Publish};
use crate::store::{MemberId, Message, Ticket};

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
#[derive(Debug)]
pub(super) struct Record {
    pub(super) place: u64,
    pub(super) units: u32,
    pub(super) hold_ms: u64,
    pub(super) place_ms: u64,
    pub(super) counter: u64,
    pub(super) heard: u64,
    pub(super) told: u64,
    pub(super) token: u64,
    pub(super) flag: Flag,
    pub(super) member: MemberId,
    pub(super) meta: Arc<str>,
}

impl Record {
    /// Whether this waiter can be granted by an operation of `member`: it is not silent, and somebody
    /// listens to the grant.
    pub(super) fn answers(
        &self,
        now: u64,
        member: MemberId,
        token: u64,
        hold_ms: u64,
        ticket: Ticket,
        publish: &mut Publish<'_>,
    ) -> bool {
        let last = self.heard.max(self.told);
        if self.member != member && now.saturating_sub(last) > CLAIM_MS * 1000 {
            return false;
        }
        publish(
            self.member,
            Message::Grant {
                ticket,
                token,
                counter: self.counter,
                hold: Duration::from_millis(hold_ms),
            },
        )
    }
}

/// Durations travel in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4_000_000)
}
