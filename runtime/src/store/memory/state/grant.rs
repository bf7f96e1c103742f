//! What every operation does last: the heads of the queue get what fits.

use super::{CLAIM_MS, NEAR, State, Step};
use crate::store::memory::record::Flag;
use crate::store::{Message, Ticket};

impl State {
    /// What every operation does last.
    pub(super) fn grant(&mut self, step: &mut Step<'_, '_>) {
        while let Some((&place, &ticket)) = self.queue.first_key_value() {
            let used = self.used();
            let Some(record) = self.records.get_mut(&ticket) else {
                self.queue.remove(&place);
                continue;
            };
            if used + u64::from(record.units) > u64::from(self.capacity) {
                break;
            }
            let token = step.now.max(self.token + 1);
            let own = step.own == Some(ticket);
            let hold_ms = if own {
                record.hold_ms
            } else {
                record.hold_ms.min(CLAIM_MS)
            };
            if !own && !record.answers(step.now, step.member, token, hold_ms, ticket, step.publish)
            {
                record.told = 0;
                self.queue.remove(&place);
                self.quiet.insert(place, ticket);
                continue;
            }
            record.flag = if own { Flag::Plain } else { Flag::Provisional };
            record.token = token;
            self.token = token;
            self.held.push((step.now + hold_ms * 1000, ticket));
            self.queue.remove(&place);
            self.waits.remove(&ticket);
        }
        for &ticket in self.queue.values().take(NEAR) {
            let Some(record) = self.records.get_mut(&ticket) else {
                continue;
            };
            if record.told == 0 {
                record.told = step.now;
                if step.own != Some(ticket) {
                    (step.publish)(record.member, Message::Near { ticket });
                }
            }
        }
        self.forget_if_empty();
    }

    pub(super) fn forget_if_empty(&mut self) {
        if self.held.is_empty() && self.queue.is_empty() && self.quiet.is_empty() {
            self.capacity = 0;
            self.places = 0;
        }
    }

    pub(super) fn used(&self) -> u64 {
        let units = |held: &(u64, Ticket)| self.records.get(&held.1).map(|record| record.units);
        self.held.iter().filter_map(units).map(u64::from).sum()
    }
}
