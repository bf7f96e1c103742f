//! The normal form: after each step, tokens, tickets and counters are renumbered in their order, and irrelevant facts
//! are dropped. Worlds that differ only in these count as one. There are thus finitely many worlds, although time is
//! unlimited.

use super::World;
use crate::member::Phase;
use crate::rules::Rules;

/// The values in use, in order. The new number of each value is its index.
#[derive(Default)]
struct Ranks(Vec<u8>);

impl Ranks {
    fn note(&mut self, value: u8) {
        if let Err(index) = self.0.binary_search(&value) {
            self.0.insert(index, value);
        }
    }

    fn of(&self, value: u8) -> u8 {
        self.0.iter().take_while(|known| **known < value).count() as u8
    }
}

impl World {
    /// Drops facts that are not used again, renumbers tokens, tickets and counters, and sorts members that are symmetric.
    pub fn normalise(&mut self, rules: &Rules) {
        for me in 0..rules.members {
            self.forget(me, rules);
            self.number_tickets(me);
            self.number_counters(me);
        }
        self.number_tokens();
        if rules.symmetric {
            self.line_up();
        }
    }

    fn number_tokens(&mut self) {
        // 0 stands for no token.
        let (mut fences, mut orders) = (Ranks(vec![0]), Ranks(vec![0]));
        self.each_token(|token| {
            fences.note(token.fence);
            orders.note(token.order);
        });
        // While the store knows its last token, the next token is greater than all others, so the last token's value
        // does not matter.
        let greatest = fences.0.iter().all(|fence| *fence <= self.store.last);
        let known = self.store.last == self.past.last.fence && self.replica.is_none() && greatest;
        if !known {
            fences.note(self.past.last.fence);
            fences.note(self.store.last);
        }
        if let Some(replica) = &self.replica {
            fences.note(replica.last);
        }
        self.each_token(|token| {
            token.fence = fences.of(token.fence);
            token.order = orders.of(token.order);
        });
        self.past.last.order = orders.0.len() as u8 - 1;
        if known {
            self.past.last.fence = fences.0.len() as u8 - 1;
            self.store.last = self.past.last.fence;
        } else {
            self.past.last.fence = fences.of(self.past.last.fence);
            self.store.last = fences.of(self.store.last);
        }
        if let Some(replica) = &mut self.replica {
            replica.last = fences.of(replica.last);
        }
    }

    fn number_tickets(&mut self, me: u8) {
        let mut numbers = Ranks::default();
        self.each_ticket(me, |ticket, _| numbers.note(ticket.number));
        self.each_ticket(me, |ticket, _| ticket.number = numbers.of(ticket.number));
        let member = &mut self.members[usize::from(me)];
        member.next = numbers.0.len() as u8;
        member.leaving.sort_unstable();
    }

    /// Renumbers the counters of the waiting or holding ticket (or of the one that a dead member kept), and drops sent
    /// requests whose counters nothing refers to.
    fn number_counters(&mut self, me: u8) {
        let mine = self.members[usize::from(me)].mine.clone();
        let mut counters = Ranks(vec![0]);
        let kept = self.members[usize::from(me)].kept;
        let ticket = mine.as_ref().map(|mine| mine.ticket).or(kept);
        let number = ticket.map(|ticket| ticket.number);
        self.each_ticket(me, |ticket, counter| {
            if let Some(counter) = counter {
                if Some(ticket.number) == number {
                    counters.note(*counter);
                } else {
                    *counter = 0;
                }
            }
        });
        let mut sent = mine.map(|mine| mine.sent).unwrap_or_default();
        sent.retain(|sent| counters.0.contains(&sent.counter));
        self.each_ticket(me, |ticket, counter| {
            if let Some(counter) = counter.filter(|_| Some(ticket.number) == number) {
                *counter = counters.of(*counter);
            }
        });
        for sent in &mut sent {
            sent.counter = counters.of(sent.counter);
        }
        if let Some(mine) = &mut self.members[usize::from(me)].mine {
            mine.sent = sent;
            mine.last = counters.0.len() as u8 - 1;
            if let Phase::Holds { granted, .. } = &mut mine.phase {
                *granted = counters
                    .0
                    .iter()
                    .rposition(|known| known <= granted)
                    .unwrap_or(0) as u8;
            }
        }
    }
}
