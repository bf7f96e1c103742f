//! The faults of a run: clocks that are stepped back, members that crash, late copies, and a store that loses its data.

use std::collections::HashSet;

use auto_mutex_seam::store::{MemberId, NameRecord, Op};

use super::{Client, Play};
use crate::Subject;

/// An hour, which is longer than everything except signals.
const HOUR: u64 = 3_600_000_000;

impl<S: Subject> Play<'_, S> {
    /// Lets time pass, often until exactly when something ends.
    pub(super) fn pass(&mut self) {
        let dice = &mut self.dice;
        let mut ends = self.ends.concat();
        if self.now < self.opens {
            ends.push(self.opens);
        }
        let forth: &[u64] = if self.crowd {
            &[0, 1, 1_000, 10_000, 50_000, 200_000, 200_000, 900_000]
        } else {
            &[
                0, 0, 1, 999, 10_000, 300_000, 300_000, 700_000, 1_000_000, 2_000_001, 4_000_000,
            ]
        };
        self.now = match dice.below(60) {
            0..7 if !ends.is_empty() => dice.of(&ends),
            7 if !self.crowd => self.now + 31_000_000,
            8 if dice.one_in(8) => self.now + HOUR,
            8 => self.now - dice.of(&[1, 500_000, 3_000_000, 40_000_000]),
            _ => self.now + dice.of(forth),
        };
    }

    /// Causes random faults: the store closes or opens, a member stops listening or listens again, a member replaces a
    /// ticket with a new one, or a member crashes and a new one takes its place.
    pub(super) fn trouble(&mut self) {
        let dice = &mut self.dice;
        if self.closes && dice.one_in(30) {
            self.closed_until = match dice.one_in(4) {
                true => 0,
                false => self.now + dice.of(&[1_000, 100_000, 1_000_000, 5_000_000]),
            };
        }
        // Some members consider the store open before others do.
        self.opens = match self.now < self.closed_until && dice.one_in(3) {
            true => 0,
            false => self.closed_until,
        };
        self.both.close_until(self.opens);
        let index = dice.below(self.clients.len() as u64) as usize;
        let client = &mut self.clients[index];
        if dice.one_in(20) {
            let listens = !dice.one_in(2);
            self.both.listen(client.member, listens);
        }
        if dice.one_in(12) {
            let index = dice.below(client.tickets.len() as u64) as usize;
            client.tickets[index] = dice.ticket();
        }
        if dice.one_in(80) {
            self.both.listen(client.member, false);
            let tickets = client.tickets.len();
            *client = Client::new(dice, tickets);
            self.both.listen(client.member, true);
        }
    }

    /// Returns a copy of an earlier operation of any member: of a recent one, or of an old one whose member may have
    /// crashed.
    pub(super) fn late(&mut self) -> Option<(usize, MemberId, Op)> {
        let sent = self.trail.asked.len() as u64;
        if sent == 0 || !self.dice.one_in(10) {
            return None;
        }
        let back = match self.dice.one_in(2) {
            true => self.dice.below(sent.min(4)),
            false => self.dice.below(sent),
        };
        let (_, index, member, op) = &self.trail.asked[(sent - 1 - back) as usize];
        Some((*index, *member, op.clone()))
    }

    /// The store comes back without its data, or with older data.
    pub(super) fn forget(&mut self, seen: &mut HashSet<String>) {
        if !self.forgets || !self.dice.one_in(25) {
            return;
        }
        let index = self.dice.below(self.uses.len() as u64) as usize;
        let before = match self.kept.take() {
            Some((of, snapshot, judge)) if of == index => {
                self.both.restore(index, &snapshot);
                seen.insert("a return to older data".into());
                judge
            }
            _ if self.dice.one_in(3) => {
                self.both.lose(index);
                seen.insert("a loss of all data".into());
                Default::default()
            }
            _ => {
                let snapshot = self.both.keep(index);
                self.kept = Some((index, snapshot, self.judges[index].clone()));
                return;
            }
        };
        self.judges[index].returned_to(&before);
        self.infos[index] = NameRecord::default();
        self.ends[index].clear();
    }
}
