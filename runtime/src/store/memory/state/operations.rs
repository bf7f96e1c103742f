//! What each operation does between prune and grant.

use std::time::Duration;

use super::{State, Step};
use crate::store::memory::record::{Flag, Record, millis};
use crate::store::{Mode, Op, Reply, Ticket};

impl State {
    pub(super) fn acquire(&mut self, step: &mut Step<'_, '_>, op: &Op) -> Reply {
        let &Op::Acquire {
            ticket,
            counter,
            units,
            capacity,
            hold,
            place,
            mode,
            ref meta,
        } = op
        else {
            return Reply::Gone;
        };
        let now = step.now;
        if units > capacity {
            return Reply::TooMany;
        }
        let parked = |record: &Record| record.flag == Flag::Parked;
        if self.gone.contains_key(&ticket) || self.records.get(&ticket).is_some_and(parked) {
            return Reply::Refused;
        }
        if !self.hear(now, ticket, counter, hold, place) {
            if self.capacity != 0 && self.capacity != capacity {
                return Reply::Mismatch {
                    capacity: self.capacity,
                };
            }
            self.capacity = capacity;
            self.places += 1;
            let record = Record {
                place: self.places,
                units,
                hold_ms: millis(hold),
                place_ms: millis(place),
                counter,
                heard: now,
                told: 0,
                token: 0,
                flag: Flag::Plain,
                member: step.member,
                meta: meta.clone(),
            };
            self.queue.insert(record.place, ticket);
            self.waits.insert(ticket, now + record.place_ms * 1000);
            self.records.insert(ticket, record);
        }
        self.grant(step);
        match self.standing(now, ticket) {
            Reply::Queued { holder, .. } if mode == Mode::Try => {
                self.drop_waiter(ticket);
                self.forget_if_empty();
                Reply::Busy { holder }
            }
            reply => reply,
        }
    }

    /// A fresh ticket takes the place of one that holds.
    pub(super) fn adopt(&mut self, step: &mut Step<'_, '_>, op: &Op) -> Reply {
        let &Op::Adopt {
            old,
            ticket,
            counter,
            hold,
            place,
            ref meta,
        } = op
        else {
            return Reply::Gone;
        };
        let now = step.now;
        if self.gone.contains_key(&ticket) {
            self.grant(step);
            return Reply::Refused;
        }
        let mut known = self.hear(now, ticket, counter, hold, place);
        let parked = |record: &Record| record.flag == Flag::Parked;
        if !known
            && !self.records.contains_key(&ticket)
            && !self.records.get(&old).is_some_and(parked)
            && let Some(held) = self.held.iter_mut().find(|held| held.1 == old)
            && let Some(mut record) = self.records.remove(&old)
        {
            self.token = now.max(self.token + 1);
            record.hold_ms = millis(hold);
            record.place_ms = millis(place);
            record.counter = counter;
            record.heard = now;
            record.told = 0;
            record.token = self.token;
            record.flag = Flag::Plain;
            record.member = step.member;
            record.meta = meta.clone();
            *held = (now + record.hold_ms * 1000, ticket);
            self.records.insert(ticket, record);
            known = true;
        }
        self.grant(step);
        if known {
            self.standing(now, ticket)
        } else {
            Reply::Gone
        }
    }

    pub(super) fn release(&mut self, now: u64, ticket: Ticket, park: Duration) -> Reply {
        let Some(record) = self.records.get_mut(&ticket) else {
            return Reply::Gone;
        };
        let Some(index) = self.held.iter().position(|held| held.1 == ticket) else {
            self.drop_waiter(ticket);
            return Reply::Cancelled;
        };
        if record.flag == Flag::Parked {
            return Reply::Released;
        }
        let park_ms = millis(park);
        if park_ms > 0 {
            record.flag = Flag::Parked;
            record.hold_ms = park_ms;
            self.held[index].0 = now + park_ms * 1000;
        } else {
            self.held.swap_remove(index);
            self.records.remove(&ticket);
        }
        Reply::Released
    }

    /// Notes that a known ticket spoke; `false` if it is not known or only parked.
    pub(super) fn hear(
        &mut self,
        now: u64,
        ticket: Ticket,
        counter: u64,
        hold: Duration,
        place: Duration,
    ) -> bool {
        let Some(record) = self.records.get_mut(&ticket) else {
            return false;
        };
        if record.flag == Flag::Parked {
            return false;
        }
        record.counter = record.counter.max(counter);
        record.heard = now;
        record.hold_ms = millis(hold);
        record.place_ms = millis(place);
        if let Some(held) = self.held.iter_mut().find(|held| held.1 == ticket) {
            held.0 = now + record.hold_ms * 1000;
            record.flag = Flag::Plain;
        } else {
            self.waits.insert(ticket, now + record.place_ms * 1000);
            self.quiet.remove(&record.place);
            self.queue.insert(record.place, ticket);
        }
        true
    }
}
