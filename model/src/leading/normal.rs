//! The normal form of a world, in which numbers are canonical. Worlds that differ only in these have the same normal
//! form.

use super::Id;
use super::seat::{Body, Stage, Term};
use super::world::World;

impl World {
    /// Renumbers the tickets. The newest term has the number 1, and every other one 0. Forgets what no longer matters
    /// after the body has ended.
    pub fn normalise(&mut self) {
        for seat in &mut self.seats {
            if let Some(term) = seat.term_mut() {
                term.number = u8::from(term.number == self.past.newest);
                if let Body::Ended(_) = term.body {
                    *term = Term {
                        valid: 0,
                        over: None,
                        idle: 0,
                        overrun: false,
                        told: false,
                        ..*term
                    };
                }
            }
        }
        self.past.newest = u8::from(self.past.newest > 0);
        let mut seen: Vec<Id> = Vec::new();
        self.each_ticket(&mut |ticket| {
            if !seen.contains(ticket) {
                seen.push(*ticket);
            }
        });
        self.each_ticket(&mut |ticket| {
            let place = seen.iter().position(|other| other == ticket);
            *ticket = place.map_or(0, |place| place as Id + 1);
        });
        self.last_ticket = seen.len() as Id;
    }

    fn each_ticket(&mut self, visit: &mut impl FnMut(&mut Id)) {
        if let Some(holder) = &mut self.store.holder {
            visit(&mut holder.ticket);
        }
        for (ticket, _) in &mut self.store.queue {
            visit(ticket);
        }
        for seat in &mut self.seats {
            match &mut seat.stage {
                Stage::Waiting(ticket) => visit(ticket),
                Stage::Leading(term) => visit(&mut term.ticket),
                Stage::Away | Stage::Ended => {}
            }
        }
    }
}
