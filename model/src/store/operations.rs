//! The part of each operation between its first step (prune) and its last step (grant).

use super::{Channel, Record, Store};
use crate::network::{Reply, Request, Ticket, Verb};
use crate::rules::{Rules, Safeguard};

impl Store {
    /// Executes one request.
    pub fn execute(&mut self, request: Request, channel: &mut Channel<'_>) -> Reply {
        let Request { ticket, verb } = request;
        match verb {
            Verb::Acquire { counter } => self.acquire(ticket, counter, channel),
            Verb::Touch { counter } => self.touch(ticket, counter, channel),
            Verb::Release { tomb } => self.release(ticket, tomb, channel),
        }
    }

    fn acquire(&mut self, ticket: Ticket, counter: u8, channel: &mut Channel<'_>) -> Reply {
        self.prune(channel.rules, None);
        if self.gone.iter().any(|gone| gone.0 == ticket) {
            self.grant(channel, None);
            return Reply::Refused;
        }
        let again = channel.rules.keeps(Safeguard::Idempotence);
        if !(again && self.renew(ticket, counter, channel)) {
            self.queue(ticket, counter, channel.rules);
        }
        self.grant(channel, Some(ticket));
        self.status_of(ticket, channel)
    }

    fn touch(&mut self, ticket: Ticket, counter: u8, channel: &mut Channel<'_>) -> Reply {
        self.prune(channel.rules, None);
        let mut known = self.renew(ticket, counter, channel);
        if !known && !channel.rules.keeps(Safeguard::TouchCreatesNothing) {
            self.queue(ticket, counter, channel.rules);
            known = true;
        }
        self.grant(channel, Some(ticket));
        if known {
            self.status_of(ticket, channel)
        } else {
            Reply::Gone
        }
    }

    fn release(&mut self, ticket: Ticket, tomb: bool, channel: &mut Channel<'_>) -> Reply {
        self.prune(channel.rules, Some(ticket));
        let found = self.find(ticket);
        if let Some(index) = found {
            self.records.remove(index);
        }
        if tomb && channel.rules.keeps(Safeguard::Tombstone) {
            self.gone.retain(|gone| gone.0 != ticket);
            self.gone.push((ticket, channel.rules.tomb));
            self.gone.sort_unstable();
        }
        self.grant(channel, None);
        match found {
            Some(_) => Reply::Left,
            None => Reply::Gone,
        }
    }

    fn queue(&mut self, ticket: Ticket, counter: u8, rules: &Rules) {
        self.records.push(Record {
            ticket,
            counter,
            place: rules.place,
            quiet: false,
            // A ticket that has just asked touches soon anyway, so it needs no notification.
            notified: Some(0),
            lease: None,
        });
    }

    /// Renews the lease or the place of a ticket; returns `false` if the ticket is unknown.
    fn renew(&mut self, ticket: Ticket, counter: u8, channel: &Channel<'_>) -> bool {
        let rules = channel.rules;
        let Some(index) = self.find(ticket) else {
            return false;
        };
        let record = &mut self.records[index];
        let unclaimed = channel.closed && record.lease.is_some_and(|lease| lease.provisional);
        if unclaimed && !rules.keeps(Safeguard::LeftAlone) {
            record.lease = None;
            if record.place == 0 {
                self.records.remove(index);
                return false;
            }
        }
        record.counter = record.counter.max(counter);
        record.quiet = false;
        match &mut record.lease {
            // The ticket may not claim now. Its grant is not withdrawn, because the member may consider it valid until
            // it ends.
            Some(_) if unclaimed => record.place = rules.place,
            Some(lease) => {
                lease.left = rules.lease;
                lease.provisional = false;
                record.place = 0;
            }
            None => {
                record.place = rules.place;
                record.notified = None;
            }
        }
        true
    }

    fn status_of(&self, ticket: Ticket, channel: &Channel<'_>) -> Reply {
        let index = self.find(ticket);
        match index.and_then(|index| self.records[index].lease) {
            Some(lease) if !(channel.closed && lease.provisional) => Reply::Granted(lease.token),
            _ => Reply::Queued,
        }
    }
}
