//! Symmetry: worlds that differ only by a permutation of the members count as one.
//!
//! Members are sorted by a hash of their state. Those with equal hashes may come in either order. One world is then
//! explored twice, but none is missed.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::World;

impl World {
    /// Puts the members into an order that does not depend on their numbers.
    pub(super) fn line_up(&mut self) {
        let count = self.members.len() as u8;
        let mut order: Vec<_> = (0..count).map(|me| (self.looks_of(me), me)).collect();
        if order.is_sorted() {
            return;
        }
        order.sort_unstable();
        let mut members = Vec::with_capacity(self.members.len());
        let mut connections = Vec::with_capacity(self.connections.len());
        // Tickets first get unused member numbers, so that no two members get mixed up on the way.
        for me in 0..count {
            self.each_ticket(me, |ticket, _| ticket.member += count);
        }
        for (new, (_, old)) in order.into_iter().enumerate() {
            for store in [Some(&mut self.store), self.replica.as_deref_mut()]
                .into_iter()
                .flatten()
            {
                let records = store.records.iter_mut().map(|record| &mut record.ticket);
                let tickets = records.chain(store.gone.iter_mut().map(|gone| &mut gone.0));
                for ticket in tickets.filter(|ticket| ticket.member == old + count) {
                    ticket.member = new as u8;
                }
            }
            members.push(self.members[usize::from(old)].clone());
            connections.push(self.connections[usize::from(old)].clone());
        }
        self.members = members;
        self.connections = connections;
        for me in 0..count {
            self.each_ticket(me, |ticket, _| ticket.member = me);
        }
        self.store.gone.sort_unstable();
        if let Some(replica) = &mut self.replica {
            replica.gone.sort_unstable();
        }
    }

    /// Returns a hash of the member's state without its number.
    fn looks_of(&self, me: u8) -> u64 {
        let mut hasher = DefaultHasher::new();
        let (member, connection) = (
            &self.members[usize::from(me)],
            &self.connections[usize::from(me)],
        );
        let phase = member
            .mine
            .as_ref()
            .map(|mine| (&mine.sent, mine.late, mine.keep, mine.long, mine.phase));
        (
            member.calls,
            phase,
            member.leaving.len(),
            (member.dead, member.kept.is_some()),
            member.slips,
            member.closed,
        )
            .hash(&mut hasher);
        let requests = connection
            .requests
            .iter()
            .chain(connection.late.iter().map(|late| &late.0));
        for request in requests {
            (request.ticket.number, request.verb).hash(&mut hasher);
        }
        (
            connection.connected,
            connection.replies.len(),
            connection.messages.len(),
        )
            .hash(&mut hasher);
        for (place, record) in self.store.records.iter().enumerate() {
            if record.ticket.member == me {
                (place, record.ticket.number).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}
