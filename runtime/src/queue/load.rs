//! The load of a queue, for reports: its holds, its waiters, and its oldest unanswered renewal.

use super::lock_queue::LockQueue;
use super::ticket::Ticket;
use crate::clock::Instant;
use crate::member::{HeldName, Load};

impl LockQueue {
    pub(super) fn load(&self) -> Load {
        let state = self.lock();
        let held = || {
            state
                .tickets
                .iter()
                .filter(|ticket| ticket.held().is_some())
        };
        let attempting = |ticket: &&Ticket| ticket.attempting().is_some();
        Load {
            held: held().count(),
            waiting: state.waiters.len() + state.tickets.iter().filter(attempting).count(),
            oldest_renewal: held().filter_map(|ticket| ticket.log.unanswered()).min(),
        }
    }

    pub(super) fn held(&self) -> Vec<HeldName> {
        let (state, now) = (self.lock(), Instant::now());
        let held = state.tickets.iter().filter_map(Ticket::held);
        held.map(|held| HeldName {
            name: self.name().clone(),
            meta: held.hold.grant().meta.clone(),
            held: held.hold.since().until(now),
            caller: held.hold.caller(),
        })
        .collect()
    }
}
