//! The steps that a member takes by itself: enter, ask again, renew, leave.

use super::{Member, Mine, Phase};
use crate::network::{Connection, Request, Ticket, Verb};

impl Member {
    /// A caller wants the lock.
    pub fn enter(&mut self, me: u8, connection: &mut Connection) {
        let ticket = Ticket {
            member: me,
            number: self.next,
        };
        self.next += 1;
        self.mine = Some(Mine {
            ticket,
            sent: Vec::new(),
            last: 0,
            late: false,
            phase: Phase::Waits { queued: false },
        });
        self.ask(connection);
    }

    /// Sends the request that the ticket's state requires: a touch if the ticket is in the store's queue or holds,
    /// otherwise an acquire.
    pub fn ask(&mut self, connection: &mut Connection) {
        let Some(mine) = &mut self.mine else { return };
        let acquires = matches!(mine.phase, Phase::Waits { queued: false });
        let counter = mine.count();
        if !connection.connected {
            // Without a connection, the request fails immediately. The member still has to assume that a copy of an
            // acquire is in flight.
            mine.late |= acquires;
            return;
        }
        let verb = if acquires {
            Verb::Acquire { counter }
        } else {
            Verb::Touch { counter }
        };
        connection.requests.push(Request {
            ticket: mine.ticket,
            verb,
        });
    }

    /// The ticket leaves because it was released, cancelled or lost.
    pub fn leave(&mut self, connection: &mut Connection) {
        let Some(mine) = self.mine.take() else { return };
        self.leaving.push((mine.ticket, mine.late));
        self.leaving.sort_unstable();
        send_release(mine.ticket, mine.late, connection);
    }

    /// The connection breaks.
    pub fn disconnected(&mut self, connection: &Connection) {
        if let Some(mine) = &mut self.mine {
            mine.late |= connection.owes_acquire(mine.ticket);
        }
        for (ticket, tomb) in &mut self.leaving {
            *tomb |= connection.owes_acquire(*ticket);
        }
    }

    /// The member reconnects: it asks again for a waiting or holding ticket, and resends unanswered releases.
    pub fn connected(&mut self, connection: &mut Connection) {
        connection.connected = true;
        self.ask(connection);
        for (ticket, tomb) in &self.leaving {
            send_release(*ticket, *tomb, connection);
        }
    }

    /// The member dies. Its tickets are forgotten, but requests already sent may still arrive.
    pub fn die(&mut self) {
        let pen = self.pen;
        *self = Self {
            dead: true,
            next: self.next,
            pen,
            ..Self::new(0, 0)
        };
    }
}

fn send_release(ticket: Ticket, tomb: bool, connection: &mut Connection) {
    if connection.connected {
        connection.requests.push(Request {
            ticket,
            verb: Verb::Release { tomb },
        });
    }
}
