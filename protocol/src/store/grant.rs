//! Grants to the waiters in order, while there is room.

use alloc::sync::Arc;
use core::time::Duration;

use super::{Flag, Record, State, Step, micros};
use crate::{Message, Reply, Retain, Ticket, millis};

/// The token of a grant, and the signal that is granted instead of units.
type Offer = (u64, Option<(u64, Arc<str>)>);

impl State {
    pub(super) fn grant(&mut self, step: &mut Step<'_>) {
        for _ in 0..step.limits.batch {
            let first = self.queue.first_key_value().filter(|_| !step.is_closed());
            let Some((&place, &ticket)) = first else {
                break;
            };
            let Some(offer) = self.offer(step.now, ticket) else {
                break;
            };
            if !self.give(step, ticket, offer) {
                self.queue.remove(&place);
                self.quiet.insert(place, ticket);
            }
        }
        for &ticket in self.queue.values().take(step.limits.near) {
            let Some(record) = self.records.get_mut(&ticket) else {
                continue;
            };
            if record.told == 0 {
                record.told = step.now;
                if step.own != Some(ticket) {
                    step.tell(record.member, Message::Near { ticket });
                }
            }
        }
        self.forget_if_empty();
    }

    fn offer(&self, now: u64, ticket: Ticket) -> Option<Offer> {
        let record = self.records.get(&ticket)?;
        let token = now.max(self.token + 1);
        if record.takes
            && let Some((&number, text)) = self.signals.first_key_value()
        {
            return Some((token, Some((number, text.clone()))));
        }
        let used = self.used() + u64::from(record.units);
        (used <= u64::from(self.capacity.unwrap_or(0))).then_some((token, None))
    }

    /// Returns `false`, without a grant, if the waiter is unlikely to claim it.
    fn give(&mut self, step: &mut Step<'_>, ticket: Ticket, offer: Offer) -> bool {
        let (token, signal) = offer;
        let Some(record) = self.records.get_mut(&ticket) else {
            return false;
        };
        let own = step.own == Some(ticket);
        let hold_ms = if own {
            record.hold_ms
        } else {
            record.hold_ms.min(millis(step.limits.claim))
        };
        if !own {
            // If the waiter is dead, a grant of the whole capacity would block all others until it expires.
            let alone = signal.is_none() && Some(record.units) == self.capacity;
            let silent =
                step.now.saturating_sub(record.heard.max(record.told)) > micros(step.limits.claim);
            let message = Message::Grant {
                ticket,
                token,
                counter: record.counter,
                hold: Duration::from_millis(hold_ms),
                signal: signal.as_ref().map(|signal| signal.1.clone()),
            };
            if alone && silent && record.member != step.member || !step.tell(record.member, message)
            {
                record.told = 0;
                return false;
            }
        }
        record.flag = if own { Flag::Plain } else { Flag::Provisional };
        record.token = token;
        if let Some((number, _)) = &signal {
            self.signals.remove(number);
        }
        record.signal = signal;
        self.token = token;
        self.held.push((step.now + hold_ms * 1000, ticket));
        self.queue.remove(&record.place);
        self.quiet.remove(&record.place);
        true
    }

    /// Another client keeps the lock between its calls, so it must release the lock for this operation. Returns the
    /// reply if no call is inside.
    pub(super) fn recalled(&self, step: &mut Step<'_>) -> Option<Reply> {
        let &[(_, ticket)] = self.held.as_slice() else {
            return None;
        };
        let keeper = self.records.get(&ticket)?;
        if keeper.retain == Retain::No || keeper.member == step.member {
            return None;
        }
        step.tell(keeper.member, Message::Recall { ticket });
        let holder = self.holder()?;
        (keeper.retain == Retain::Kept).then_some(Reply::Kept { holder })
    }

    pub(super) fn forget_if_empty(&mut self) {
        if self.held.is_empty() && self.queue.is_empty() && self.quiet.is_empty() {
            self.capacity = None;
            self.places = 0;
        }
        if self.last_signal > 0 && !self.has_signals() {
            self.last_signal = 0;
        }
    }

    pub(super) fn has_signals(&self) -> bool {
        !self.signals.is_empty() || self.holders().any(|record| record.signal.is_some())
    }

    pub(super) fn used(&self) -> u64 {
        self.used_by(self.held.iter())
    }

    pub(super) fn used_by<'a>(&self, held: impl Iterator<Item = &'a (u64, Ticket)>) -> u64 {
        let held = held.filter_map(|held| self.records.get(&held.1));
        held.map(Record::weight).sum()
    }
}
