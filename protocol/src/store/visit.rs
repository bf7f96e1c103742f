//! Shows the state of a name in a store to a [`Visitor`].

use super::{Flag, Record, State};
use crate::visit::keyed;
use crate::{Ticket, Visitor};

impl State {
    /// Forgets what decides nothing any more.
    pub fn forget(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        for record in self.records.values_mut() {
            if !record.is_waiting() && record.flag == Flag::Plain {
                (record.heard, record.told) = (0, 0);
            }
        }
        for (until, ticket) in &mut self.held {
            let record = self.records.get(ticket);
            if record.is_some_and(|record| record.flag == Flag::Plain) {
                *until = (*until).max(now);
            }
        }
    }

    /// Shows the state to `visitor`, and sorts what has no order.
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        visitor.token(&mut self.token);
        visitor.place(&mut self.places);
        visitor.server_time(&mut self.clock);
        keyed(&mut self.records, |ticket, record| {
            record.visit(*ticket, visitor);
            visitor.ticket(ticket);
        });
        for (until, ticket) in &mut self.held {
            visitor.server_time(until);
            visitor.ticket(ticket);
        }
        self.held.sort_unstable();
        for places in [&mut self.queue, &mut self.quiet] {
            keyed(places, |place, ticket| {
                visitor.place(place);
                visitor.ticket(ticket);
            });
        }
        keyed(&mut self.gone, |ticket, until| {
            visitor.server_time(until);
            visitor.ticket(ticket);
        });
        if let Some(kick) = &mut self.kick {
            visitor.server_time(&mut kick.at);
            visitor.token(&mut kick.token);
        }
    }
}

impl Record {
    fn visit(&mut self, ticket: Ticket, visitor: &mut impl Visitor) {
        visitor.place(&mut self.place);
        visitor.server_time(&mut self.heard);
        visitor.server_time(&mut self.told);
        visitor.token(&mut self.token);
        visitor.counter(ticket, &mut self.counter);
        visitor.member(&mut self.member);
    }
}
