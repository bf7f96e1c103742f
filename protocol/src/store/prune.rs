//! The first step of every operation: it drops what has ended.

use alloc::vec::Vec;

use super::{Env, Flag, State, micros};
use crate::{Limits, Ticket, millis};

impl State {
    /// `own` is the operation's ticket. If it is a plain holder that this operation releases, it is kept: no earlier
    /// operation has noticed the end of its lease.
    pub(super) fn prune(&mut self, env: &Env<'_>, own: Option<Ticket>, releases: bool) {
        let (now, limits) = (env.now, env.limits);
        if now < self.clock {
            self.step_back(now, limits);
        }
        self.gone.retain(|_, until| *until > now);
        // By deadline, then by ticket, as in the scripts, because tests compare every reply.
        if self.held.iter().any(|held| held.0 <= now) {
            let records = &self.records;
            let is_plain = |ticket| records.get(&ticket).is_some_and(|r| r.flag == Flag::Plain);
            let is_over = |&&(until, ticket): &&(u64, Ticket)| {
                until <= now && !(releases && own == Some(ticket) && is_plain(ticket))
            };
            let over = first_of(
                self.held.iter().filter(is_over).copied().collect(),
                own,
                limits.batch,
            );
            self.held.retain(|held| !over.contains(held));
            for (until, ticket) in over {
                self.end_lease(now, ticket, until, limits);
            }
        }
        if self.places_end().any(|end| end <= now) {
            let waiting = self.records.iter().filter(|(_, it)| it.is_waiting());
            let ends = waiting.map(|(&ticket, record)| (record.place_ends(), ticket));
            for (_, ticket) in first_of(
                ends.filter(|(end, _)| *end <= now).collect(),
                own,
                limits.batch,
            ) {
                self.drop_waiter(ticket);
            }
        }
        self.forget_if_empty();
    }

    /// After the clock was stepped back, cuts each period to the length it would have if it began now.
    pub(super) fn step_back(&mut self, now: u64, limits: &Limits) {
        for (until, ticket) in &mut self.held {
            if let Some(record) = self.records.get(ticket) {
                let longest = match record.flag {
                    Flag::Provisional => record.hold_ms.min(millis(limits.claim)),
                    _ => record.hold_ms,
                };
                *until = (*until).min(now + longest * 1000);
            }
        }
        for record in self.records.values_mut() {
            record.heard = record.heard.min(now);
            record.told = record.told.min(now);
        }
        for until in self.gone.values_mut() {
            *until = (*until).min(now + micros(limits.tombstone));
        }
    }

    fn end_lease(&mut self, now: u64, ticket: Ticket, until: u64, limits: &Limits) {
        let Some(record) = self.records.get_mut(&ticket) else {
            return;
        };
        let signal = record.signal.take();
        let place_ends = record.place_ends();
        if record.flag == Flag::Provisional && place_ends > now {
            record.flag = Flag::Plain;
            record.told = 0;
            record.token = 0;
            // The member touched after the grant, but couldn't claim the signal because the store was closed. In
            // `quiet`, the ticket could lose the signal to a later waiter.
            let granted = until.saturating_sub(record.hold_ms.min(millis(limits.claim)) * 1000);
            if signal.is_some() && record.heard > granted {
                self.queue.insert(record.place, ticket);
            } else {
                self.quiet.insert(record.place, ticket);
            }
        } else {
            self.records.remove(&ticket);
        }
        self.signals.extend(signal);
    }

    pub(super) fn drop_waiter(&mut self, ticket: Ticket) {
        if let Some(record) = self.records.remove(&ticket) {
            self.queue.remove(&record.place);
            self.quiet.remove(&record.place);
        }
    }
}

/// What one operation handles: its own ticket, and the earliest others.
fn first_of(mut over: Vec<(u64, Ticket)>, own: Option<Ticket>, batch: usize) -> Vec<(u64, Ticket)> {
    over.sort_unstable_by_key(|&(end, ticket)| (own != Some(ticket), end, ticket));
    over.truncate(batch);
    over
}
