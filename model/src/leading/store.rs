//! The lock: one holder with a lease, and a queue.

use super::Id;
use super::rules::{Rules, Safeguard};

/// The store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    /// The ticket that holds, with its seat and the rest of its lease.
    pub holder: Option<Holder>,
    /// The tickets that wait, with their seats.
    pub queue: Vec<(Id, u8)>,
    /// For how long the store grants nothing, after a restart without its data.
    pub closed: u8,
    /// The number of terms that the store has counted. (Only without [`Safeguard::NumberIsToken`].)
    pub count: Id,
}

/// The holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The ticket.
    pub ticket: Id,
    /// Its seat.
    pub seat: u8,
    /// The rest of the lease.
    pub left: u8,
}

impl Store {
    /// Returns whether the ticket holds.
    #[must_use]
    pub fn is_held_by(&self, ticket: Id) -> bool {
        self.holder.is_some_and(|holder| holder.ticket == ticket)
    }

    /// Returns whether the ticket waits.
    #[must_use]
    pub fn has_waiter(&self, ticket: Id) -> bool {
        self.queue.iter().any(|waiter| waiter.0 == ticket)
    }

    pub(super) fn stand(&mut self, ticket: Id, seat: u8, rules: &Rules) {
        let place = match rules.keeps(Safeguard::BackOfQueue) {
            true => self.queue.len(),
            false => 0,
        };
        self.queue.insert(place, (ticket, seat));
    }

    /// Grants to the first of the queue.
    pub(super) fn grant(&mut self, rules: &Rules) -> (Id, u8) {
        let (ticket, seat) = self.queue.remove(0);
        let left = rules.lease;
        self.holder = Some(Holder { ticket, seat, left });
        self.count += u8::from(!rules.keeps(Safeguard::NumberIsToken));
        (ticket, seat)
    }

    /// Renews the lease of a ticket. Returns whether it holds.
    pub(super) fn renew(&mut self, ticket: Id, rules: &Rules) -> bool {
        match &mut self.holder {
            Some(holder) if holder.ticket == ticket => {
                holder.left = rules.lease;
                true
            }
            _ => false,
        }
    }

    pub(super) fn release(&mut self, ticket: Id) {
        self.holder = self.holder.filter(|holder| holder.ticket != ticket);
    }

    pub(super) fn tick(&mut self) {
        self.closed = self.closed.saturating_sub(1);
        if let Some(holder) = &mut self.holder {
            holder.left -= 1;
        }
        self.holder = self.holder.filter(|holder| holder.left > 0);
    }
}
