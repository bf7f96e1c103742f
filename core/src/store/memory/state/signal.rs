//! Signals: texts that are granted once each, instead of units.

use super::{State, Step};
use crate::store::limits::TOMBSTONE_MS;
use crate::store::memory::record::Record;
use crate::store::{Reply, Signal, Ticket};

impl State {
    pub(super) fn signal(
        &mut self,
        step: &mut Step<'_, '_>,
        ticket: Ticket,
        signal: &Signal,
    ) -> Reply {
        if self.gone.contains_key(&ticket) {
            self.grant(step);
            return Reply::Refused;
        }
        let waiting = self.queue.len() + self.quiet.len();
        let unserved = waiting.saturating_sub(self.signals.len()) as u64;
        let (count, token) = match signal {
            Signal::Token(token) => {
                self.known = true;
                self.gone.insert(ticket, step.now + TOMBSTONE_MS * 1000);
                (1, token.clone())
            }
            Signal::One => (unserved.min(1), ticket.to_string().into()),
            Signal::All => (unserved, ticket.to_string().into()),
        };
        for _ in 0..count {
            self.last_signal += 1;
            self.signals.insert(self.last_signal, token.clone());
        }
        self.grant(step);
        Reply::Signalled { count }
    }

    /// Puts the unused signal of `record` back into its place among the signals.
    pub(super) fn give_back(&mut self, record: &mut Record) {
        self.signals.extend(record.signal.take());
    }
}
