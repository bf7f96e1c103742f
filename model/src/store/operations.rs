//! The part of each operation between its first step (prune) and its last step (grant).

use super::{Channel, Lease, Record, Store};
use crate::network::{Reply, Request, Retain, Ticket, Verb, Wish};
use crate::rules::{Rules, Safeguard};

impl Store {
    /// Executes one request.
    pub fn execute(&mut self, request: Request, channel: &mut Channel<'_>) -> Reply {
        let Request { ticket, verb } = request;
        match verb {
            Verb::Acquire(wish) => self.acquire(ticket, wish, channel),
            Verb::Touch(wish) => self.touch(ticket, wish, channel),
            Verb::Release { tomb } => self.release(ticket, tomb, channel),
        }
    }

    fn acquire(&mut self, ticket: Ticket, wish: Wish, channel: &mut Channel<'_>) -> Reply {
        self.prune(channel.rules, None);
        if self.gone.iter().any(|gone| gone.0 == ticket) {
            self.grant(channel, None);
            return Reply::Refused;
        }
        let again = channel.rules.keeps(Safeguard::Idempotence);
        if !(again && self.renew(ticket, wish, channel)) {
            self.queue(ticket, wish, channel.rules);
        }
        self.grant(channel, Some(ticket));
        let reply = self.status_of(ticket, channel);
        if reply == Reply::Queued {
            if let Some(index) = self.find(ticket) {
                self.records[index].retain = Retain::No;
            }
            self.recall(channel);
        }
        reply
    }

    fn touch(&mut self, ticket: Ticket, wish: Wish, channel: &mut Channel<'_>) -> Reply {
        self.prune(channel.rules, None);
        if self.is_older(ticket, wish.counter, channel) {
            self.grant(channel, Some(ticket));
            return self.status_of(ticket, channel);
        }
        let mut known = self.renew(ticket, wish, channel);
        if known {
            self.retain(ticket, wish.retain, channel);
        } else if !channel.rules.keeps(Safeguard::TouchCreatesNothing) {
            self.queue(ticket, wish, channel.rules);
            known = true;
        }
        self.grant(channel, Some(ticket));
        if !known {
            return Reply::Gone;
        }
        let reply = self.status_of(ticket, channel);
        if reply == Reply::Queued && channel.rules.keeps(Safeguard::RecallAgain) {
            self.recall(channel);
        }
        reply
    }

    /// Whether a claimed holder has already sent a later request than this one.
    fn is_older(&self, ticket: Ticket, counter: u8, channel: &Channel<'_>) -> bool {
        let record = self.find(ticket).map(|index| self.records[index]);
        let claimed = |record: &Record| record.lease.is_some_and(|lease| !lease.provisional);
        channel.rules.keeps(Safeguard::OlderRequest)
            && record.is_some_and(|record| claimed(&record) && counter < record.counter)
    }

    /// A touch says what the member does with the lock after a call.
    fn retain(&mut self, ticket: Ticket, retain: Retain, channel: &mut Channel<'_>) {
        let alone = self.records.iter().filter(|it| it.lease.is_some()).count() == 1;
        let retain = if alone && !channel.closed {
            retain
        } else {
            Retain::No
        };
        let token = self.next_token(channel);
        let found = self.find(ticket).map(|index| &mut self.records[index]);
        let Some(record) = found else { return };
        let claimed = |lease: &&mut Lease| !(channel.closed && lease.provisional);
        let Some(lease) = record.lease.as_mut().filter(claimed) else {
            return;
        };
        // The calls since the last touch have used fencing tokens of the range that ends with the new token.
        if retain == Retain::Kept || record.retain == Retain::Kept && retain != Retain::No {
            lease.token = token;
            if channel.rules.keeps(Safeguard::TouchToken) {
                self.last = self.last.max(token.fence);
            }
            channel.gave(token);
        }
        record.retain = retain;
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

    fn queue(&mut self, ticket: Ticket, wish: Wish, rules: &Rules) {
        self.records.push(Record {
            ticket,
            counter: wish.counter,
            hold: rules.hold(wish.short),
            retain: wish.retain,
            place: rules.place,
            quiet: false,
            // A ticket that has just asked touches soon anyway, so it needs no notification.
            notified: Some(0),
            lease: None,
        });
    }

    /// Renews the lease or the place of a ticket; returns `false` if the ticket is unknown.
    fn renew(&mut self, ticket: Ticket, wish: Wish, channel: &Channel<'_>) -> bool {
        let rules = channel.rules;
        if self.is_older(ticket, wish.counter, channel) {
            return true;
        }
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
        record.counter = record.counter.max(wish.counter);
        record.quiet = false;
        if !unclaimed {
            record.hold = rules.hold(wish.short);
        }
        match &mut record.lease {
            // The ticket may not claim now. Its grant is not withdrawn, because the member may consider it valid until
            // it ends.
            Some(_) if unclaimed => record.place = rules.place,
            Some(lease) => {
                lease.left = record.hold;
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
