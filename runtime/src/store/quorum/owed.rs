//! [`Owed`]: the releases that a node has not executed, for all that is known.

use std::time::Duration;

use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Op, Ticket, TicketMap};

/// So many releases are owed to a node at most.
const MOST: usize = 10_000;

/// How a ticket leaves a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leave {
    pub(super) ticket: Ticket,
    pub(super) park: Duration,
    /// A copy of an acquire, or of this release, may arrive at any time.
    pub(super) tomb: bool,
    pub(super) used: u64,
}

impl Leave {
    /// At once, having used nothing.
    pub(super) fn plain(ticket: Ticket) -> Self {
        Self {
            ticket,
            park: Duration::ZERO,
            tomb: false,
            used: 0,
        }
    }

    pub(super) fn op(self) -> Op {
        Op::Release {
            ticket: self.ticket,
            park: self.park,
            tomb: self.tomb,
            used: self.used,
        }
    }

    pub(super) fn of(op: &Op) -> Option<Self> {
        match *op {
            Op::Release {
                ticket,
                park,
                tomb,
                used,
            } => Some(Self {
                ticket,
                park,
                tomb,
                used,
            }),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Debt {
    name: Name,
    leave: Leave,
    park_until: Instant,
    /// Then there is nothing to release there any more. Never, if what was sent may arrive after any time.
    until: Instant,
    /// It is on its way.
    sent: bool,
}

/// Places beside a name are not owed: they end soon.
#[derive(Debug, Default)]
pub(super) struct Owed {
    all: TicketMap<Debt>,
    /// When it is tried again.
    pub(super) armed: bool,
}

impl Owed {
    pub(super) fn add(&mut self, name: &Name, leave: Leave, until: Instant, now: Instant) {
        if self.all.len() >= MOST {
            self.all.retain(|_, debt| now < debt.until);
        }
        if let Some(debt) = self.all.get_mut(&leave.ticket) {
            debt.leave.tomb |= leave.tomb;
            debt.sent = false;
            // It may be refused time and again, but not for longer.
            if until == Instant::NEVER {
                debt.until = until;
            }
        } else if self.all.len() < MOST {
            let debt = Debt {
                name: name.clone(),
                leave,
                park_until: now.after(leave.park),
                until,
                sent: false,
            };
            self.all.insert(leave.ticket, debt);
        }
    }

    /// The node has executed it.
    pub(super) fn paid(&mut self, ticket: Ticket) {
        self.all.remove(&ticket);
    }

    /// What is to be sent now, so many at most.
    pub(super) fn take(&mut self, now: Instant, most: usize) -> Vec<(Name, Op)> {
        self.all.retain(|_, debt| now < debt.until);
        let unsent = self.all.values_mut().filter(|debt| !debt.sent);
        let sent = unsent.take(most).map(|debt| {
            debt.sent = true;
            let park = now.until(debt.park_until);
            let leave = Leave { park, ..debt.leave };
            (debt.name.clone(), leave.op())
        });
        sent.collect()
    }

    #[cfg(test)]
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.all.contains_key(&ticket)
    }
}
