//! The last step of every operation: it grants to the waiters in order.

use super::{Lease, NEAR, Record, Store};
use crate::network::{Fence, Granted, Message, Ticket, Token};
use crate::rules::{Rules, Safeguard};

/// The environment of an operation: the clock, the listening members, and the operation's effects.
#[derive(Debug)]
pub struct Channel<'a> {
    /// The rules of the run.
    pub rules: &'a Rules,
    /// The server's time, as a token.
    pub now: Fence,
    /// For each member, whether it listens for messages.
    pub listening: &'a [bool],
    /// The member whose operation it is.
    pub member: u8,
    /// Whether this member considers the store closed, so that its operation grants nothing.
    pub closed: bool,
    /// Grants and recalls sent as messages.
    pub told: Vec<Message>,
    /// Tickets notified that they are among the first. (The model's members may ask at any time, so they ignore
    /// notifications.)
    pub notified: Vec<Ticket>,
    /// The new tokens of grants and touches.
    pub given: Vec<Token>,
    /// The position of the next grant in the order of all grants.
    pub order: u8,
    /// Whether a waiter was granted before an earlier one.
    pub overtook: bool,
}

impl Store {
    /// Grants as far as there is room, and notifies the first waiters. `own` is the operation's ticket, which gets the
    /// reply instead of a message.
    pub(super) fn grant(&mut self, channel: &mut Channel<'_>, own: Option<Ticket>) {
        if !channel.closed {
            self.grant_what_fits(channel, own);
        }
        let waiting = self.records.iter_mut().filter(|record| record.waits());
        for record in waiting.take(NEAR) {
            if record.notified.is_none() {
                record.notified = Some(0);
                if own != Some(record.ticket) {
                    channel.notified.push(record.ticket);
                }
            }
        }
    }

    fn grant_what_fits(&mut self, channel: &mut Channel<'_>, own: Option<Ticket>) {
        if !channel.rules.keeps(Safeguard::QueueCheck)
            && let Some(index) = own.and_then(|own| self.find(own))
            && self.records[index].lease.is_none()
            && self.has_room(channel.rules)
        {
            self.give(channel, index, own);
        }
        for _ in 0..channel.rules.batch {
            let first = self.first_waiter();
            let Some(index) = first.filter(|_| self.has_room(channel.rules)) else {
                break;
            };
            self.give(channel, index, own);
        }
    }

    fn first_waiter(&self) -> Option<usize> {
        let mut records = self.records.iter();
        records.position(Record::waits)
    }

    fn has_room(&self, rules: &Rules) -> bool {
        let held = self.records.iter().filter(|record| record.lease.is_some());
        held.count() < usize::from(rules.capacity) || !rules.keeps(Safeguard::HolderCheck)
    }

    /// Grants to a waiter, or passes it over if its member seems to be gone.
    fn give(&mut self, channel: &mut Channel<'_>, index: usize, own: Option<Ticket>) {
        let rules = channel.rules;
        let first = self.first_waiter();
        let token = self.next_token(channel);
        let record = &mut self.records[index];
        let is_own = own == Some(record.ticket);
        let member = record.ticket.member;
        if !is_own {
            let heard = rules.place - record.place;
            let silent = record.notified.map_or(heard, |age| age.min(heard)) > rules.claim;
            let alone = rules.capacity == 1;
            if alone && silent && member != channel.member
                || !channel.listening[usize::from(member)]
            {
                record.quiet = true;
                record.notified = None;
                return;
            }
            channel.told.push(Message::Grant(Granted {
                token,
                ticket: record.ticket,
                counter: record.counter,
                hold: rules.claim.min(record.hold),
            }));
        }
        record.notified = None;
        let provisional = !is_own;
        let left = if provisional && rules.keeps(Safeguard::Claim) {
            rules.claim.min(record.hold)
        } else {
            record.hold
        };
        record.lease = Some(Lease {
            left,
            provisional: provisional && rules.keeps(Safeguard::Claim),
            token,
            first: token.position(),
        });
        if !provisional {
            record.place = 0;
        }
        self.last = self.last.max(token.fence);
        channel.gave(token);
        channel.overtook |= first != Some(index);
    }

    /// The operation's ticket waits, so the member that keeps the lock must release it.
    pub(super) fn recall(&self, channel: &mut Channel<'_>) {
        let keeper = self.keeper().map(|record| record.ticket);
        let other = keeper.filter(|ticket| ticket.member != channel.member);
        if let Some(ticket) = other.filter(|it| channel.listening[usize::from(it.member)]) {
            channel.told.push(Message::Recall(ticket));
        }
    }

    pub(super) fn next_token(&self, channel: &Channel<'_>) -> Token {
        let rules = channel.rules;
        let after_last = if rules.keeps(Safeguard::LastToken) {
            self.last + 1
        } else {
            1
        };
        let time = if rules.keeps(Safeguard::ServerTime) {
            channel.now
        } else {
            1
        };
        Token {
            fence: after_last.max(time),
            number: 0,
            order: channel.order,
        }
    }
}

impl Channel<'_> {
    pub(super) fn gave(&mut self, token: Token) {
        self.given.push(token);
        self.order += 1;
    }
}
