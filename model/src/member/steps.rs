//! What a member does by itself: entering, asking again, renewing, leaving.

use super::{Member, Mine, Phase};
use crate::network::{Connection, Request, Ticket, Verb};

impl Member {
    /// Somebody wants the lock.
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

    /// Asks for the ticket that waits, again or for the first time; touches it if the store has it in its queue. Renews it if it holds.
    pub fn ask(&mut self, connection: &mut Connection) {
        let Some(mine) = &mut self.mine else { return };
        let acquires = matches!(mine.phase, Phase::Waits { queued: false });
        let counter = mine.count();
        if !connection.connected {
            // Answered at once: there is no connection. A copy may be thought to be on its way.
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

    /// The ticket leaves: released, cancelled or lost.
    pub fn leave(&mut self, connection: &mut Connection) {
        let Some(mine) = self.mine.take() else { return };
        self.leaving.push((mine.ticket, mine.late));
        self.leaving.sort_unstable();
        send_release(mine.ticket, mine.late, connection);
    }

    /// The connection has broken.
    pub fn disconnected(&mut self, connection: &Connection) {
        if let Some(mine) = &mut self.mine {
            mine.late |= connection.owes_acquire(mine.ticket);
        }
        for (ticket, tomb) in &mut self.leaving {
            *tomb |= connection.owes_acquire(*ticket);
        }
    }

    /// A new connection: whatever waits or holds is asked for again, and what was not answered is sent again.
    pub fn connected(&mut self, connection: &mut Connection) {
        connection.connected = true;
        self.ask(connection);
        for (ticket, tomb) in &self.leaving {
            send_release(*ticket, *tomb, connection);
        }
    }

    /// It dies: what it believed and wanted is no more. What it has sent may arrive.
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
