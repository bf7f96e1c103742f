//! What every operation does first: what has ended goes.

use super::State;
use crate::store::Ticket;
use crate::store::limits::{CLAIM_MS, TOMBSTONE_MS};
use crate::store::memory::record::Flag;

impl State {
    /// What every operation does first. Who releases just now, and is a plain holder as far as anybody knows, stays for that.
    pub(super) fn prune(&mut self, now: u64, releasing: Option<Ticket>) {
        if now < self.clock {
            self.step_back(now);
        }
        self.gone.retain(|_, until| *until > now);
        // In order of deadline, then of ticket: the places of unclaimed grants depend on it in no way, but
        // the replies of both stores are compared one by one.
        if self.held.iter().any(|held| held.0 <= now) {
            let records = &self.records;
            let is_plain = |ticket| records.get(&ticket).is_some_and(|r| r.flag == Flag::Plain);
            let over = self.held.extract_if(.., |&mut (until, ticket)| {
                until <= now && (releasing != Some(ticket) || !is_plain(ticket))
            });
            let mut over: Vec<_> = over.collect();
            over.sort_unstable();
            for (until, ticket) in over {
                self.end_lease(now, ticket, until);
            }
        }
        if self.waits.values().any(|until| *until <= now) {
            let over: Vec<_> = self
                .waits
                .iter()
                .filter(|(_, until)| **until <= now)
                .map(|(ticket, _)| *ticket)
                .collect();
            for ticket in over {
                self.drop_waiter(ticket);
            }
        }
        self.forget_if_empty();
    }

    /// The clock was stepped back: nothing may last longer than if it were set now.
    pub(super) fn step_back(&mut self, now: u64) {
        for (until, ticket) in &mut self.held {
            if let Some(record) = self.records.get(ticket) {
                let longest = match record.flag {
                    Flag::Provisional => record.hold_ms.min(CLAIM_MS),
                    _ => record.hold_ms,
                };
                *until = (*until).min(now + longest * 1000);
            }
        }
        for (ticket, until) in &mut self.waits {
            if let Some(record) = self.records.get(ticket) {
                *until = (*until).min(now + record.place_ms * 1000);
            }
        }
        for record in self.records.values_mut() {
            record.heard = record.heard.min(now);
            record.told = record.told.min(now);
        }
        for until in self.gone.values_mut() {
            *until = (*until).min(now + TOMBSTONE_MS * 1000);
        }
    }

    fn end_lease(&mut self, now: u64, ticket: Ticket, until: u64) {
        let Some(record) = self.records.get_mut(&ticket) else {
            return;
        };
        let signal = record.signal.take();
        let place_ends = record.heard + record.place_ms * 1000;
        if record.flag == Flag::Provisional && place_ends > now {
            record.flag = Flag::Plain;
            record.told = 0;
            record.token = 0;
            // What it could not claim, since it takes the store for closed, is a signal that came before others began to wait.
            let granted = until.saturating_sub(record.hold_ms.min(CLAIM_MS) * 1000);
            if signal.is_some() && record.heard > granted {
                self.queue.insert(record.place, ticket);
            } else {
                self.quiet.insert(record.place, ticket);
            }
            self.waits.insert(ticket, place_ends);
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
        self.waits.remove(&ticket);
    }
}
