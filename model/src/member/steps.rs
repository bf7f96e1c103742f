//! The steps that a member takes by itself: enter, ask again, renew, leave.

use super::{Member, Mine, Phase};
use crate::network::{Connection, Request, Retain, Ticket, Token, Verb, Wish};
use crate::rules::{Rules, Safeguard};

impl Member {
    /// A caller wants the lock.
    pub fn enter(&mut self, me: u8, connection: &mut Connection, rules: &Rules) {
        let ticket = Ticket {
            member: me,
            number: self.next,
        };
        self.next += 1;
        self.mine = Some(Mine::new(ticket, rules.is_keeper(me)));
        self.ask(connection);
    }

    /// Sends the request that the ticket's state requires: a touch if the ticket is in the store's queue or holds,
    /// otherwise an acquire.
    pub fn ask(&mut self, connection: &mut Connection) {
        let Some(mine) = &mut self.mine else { return };
        let acquires = matches!(mine.phase, Phase::Waits { queued: false });
        let retain = match mine.phase {
            Phase::Holds { inside: false, .. } => Retain::Kept,
            Phase::Holds { .. } | Phase::Waits { queued: false } if mine.keep => Retain::InUse,
            _ => Retain::No,
        };
        let short = retain == Retain::Kept || retain == Retain::InUse && acquires;
        mine.long = !short;
        let counter = mine.count(short);
        if !connection.connected {
            // Without a connection, the request fails immediately. The member still has to assume that a copy of an
            // acquire is in flight.
            mine.late |= acquires;
            return;
        }
        let wish = Wish {
            counter,
            retain,
            short,
        };
        let verb = if acquires {
            Verb::Acquire(wish)
        } else {
            Verb::Touch(wish)
        };
        connection.requests.push(Request {
            ticket: mine.ticket,
            verb,
        });
    }

    /// The call ends, and the member keeps the lock.
    pub fn keep(&mut self, connection: &mut Connection, rules: &Rules) {
        let Some(mine) = &mut self.mine else { return };
        let Phase::Holds {
            granted,
            left,
            inside,
            ..
        } = &mut mine.phase
        else {
            return;
        };
        *inside = false;
        if !mine.long {
            return;
        }
        // The touch makes the lease shorter. So the member relies on no more than that from now on, whatever answers
        // arrive to earlier touches.
        if rules.keeps(Safeguard::CutFirst) {
            *left = rules.validity(rules.retain, 0).min(*left);
        }
        if rules.keeps(Safeguard::LateAnswer) {
            *granted = mine.last;
        }
        if rules.keeps(Safeguard::ShortLease) {
            self.ask(connection);
        }
    }

    /// A call enters without a request to the store, if there is a fencing token for it.
    pub fn enter_again(&mut self, order: u8, rules: &Rules) {
        let pen = self.next_pen(rules);
        let Some(mine) = &mut self.mine else { return };
        let Phase::Holds { left, inside, .. } = &mut mine.phase else {
            return;
        };
        *inside = true;
        // Without the rule, the member does not look whether the validity has ended.
        *left = (*left).max(1);
        self.pen = pen.map(|pen| Token { order, ..pen });
    }

    /// Returns the fencing token of the next call that enters without a request to the store.
    #[must_use]
    pub fn next_pen(&self, rules: &Rules) -> Option<Token> {
        let (pen, mine) = (self.pen?, self.mine.as_ref()?);
        let Phase::Holds { token, .. } = mine.phase else {
            return None;
        };
        if pen.number + 1 < rules.numbers {
            let number = pen.number + 1;
            return Some(Token { number, ..pen });
        }
        // All tokens between are the ticket's own. No other call's token is among them, so which is next makes no
        // difference.
        let fence = match rules.keeps(Safeguard::TokenRange) {
            true => Some(token.fence).filter(|fence| *fence > pen.fence),
            false => Some(pen.fence + 1),
        };
        let number = 0;
        fence.map(|fence| Token {
            fence,
            number,
            ..pen
        })
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
        let mine = self.mine.as_ref().filter(|_| self.keeps());
        let kept = mine.map(|mine| mine.ticket);
        *self = Self {
            dead: true,
            kept,
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
