//! Checks that do not depend on the model, which could have the same fault as the scripts.
//!
//! The judge knows the operations and replies, and the state reported by the scripts after each. A grant is a promise:
//! until it ends by the server's clock, the ticket is among the holders, with its token. All holds together fit into
//! the capacity. Tokens grow. No ticket holds for longer than it asked. No signal is lost or duplicated.

use std::collections::HashMap;

use auto_mutex_seam::store::{
    Lease, MemberId, Message, NameRecord, Op, Reply, Ticket, TicketRecord,
};

use super::Outcome;

/// The promise that a ticket holds until a time, by the server's clock.
#[derive(Clone, Debug)]
struct Promise {
    ends: u64,
    hold: u64,
    token: u64,
    /// The grant came by message, and the ticket has not claimed it yet.
    provisional: bool,
}

/// The judge's knowledge of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Judge {
    now: u64,
    /// The greatest token so far.
    token: u64,
    /// The number of signals that are available or held.
    signals: u64,
    /// The last known holders, with their tokens.
    held: HashMap<Ticket, u64>,
    /// The last token that each ticket was seen with. After a step back of the clock, a lease that was over may go on.
    seen: HashMap<Ticket, u64>,
    promises: HashMap<Ticket, Promise>,
    /// The tokens of the grants that handed out a signal.
    lent: HashMap<Ticket, u64>,
    /// The longest hold that each ticket has asked for.
    longest: HashMap<Ticket, u64>,
    /// The greatest counter of each ticket's requests.
    counters: HashMap<Ticket, u64>,
    /// The greatest capacity that was accepted since the name was last unused: what was granted before a smaller one
    /// stays.
    greatest: u32,
}

impl Judge {
    /// Records that the store has returned to the state of `before`: its tokens and signals are the earlier ones, and
    /// no promise counts.
    pub(super) fn returned_to(&mut self, before: &Self) {
        let longest = std::mem::take(&mut self.longest);
        *self = before.clone();
        self.promises.clear();
        self.longest = longest;
    }

    /// Checks operations that ran one after the other at `now`, their replies, and the outcome of the last one.
    pub(super) fn look(&mut self, now: u64, opens: u64, done: &[(&Op, &Reply)], last: &Outcome) {
        self.pass(now);
        for (op, reply) in done {
            self.ask(op);
            self.end(now, op, reply);
            if let (Op::Acquire { share, .. }, Reply::Granted { .. } | Reply::Queued { .. }) =
                (op, reply)
            {
                self.greatest = self.greatest.max(share.capacity);
            }
        }
        for message in &last.messages {
            self.told(now, message);
        }
        for (op, reply) in done {
            self.granted(now, opens, op, reply);
            if done.len() == 1 {
                self.stands(now < opens, op, reply, &last.info);
            }
        }
        self.promises_are_kept(now, &last.info);
        self.nobody_is_too_many(&last.info);
        self.tokens_grow(&last.info);
        self.no_signal_is_lost_or_doubled(&last.info);
    }

    fn pass(&mut self, now: u64) {
        if now < self.now {
            for promise in self.promises.values_mut() {
                promise.ends = promise.ends.min(now + promise.hold);
            }
        }
        self.now = now;
        self.promises.retain(|_, promise| promise.ends > now);
    }

    fn ask(&mut self, op: &Op) {
        let (ticket, hold) = match (op, op.lease()) {
            (_, Some(lease)) => (lease.ticket, lease.hold),
            (Op::Release { ticket, park, .. }, _) => (*ticket, *park),
            _ => return,
        };
        let longest = self.longest.entry(ticket).or_default();
        *longest = (*longest).max(hold.as_micros() as u64);
        let newest = self.counters.entry(ticket).or_default();
        *newest = op.lease().map_or(0, |lease| lease.counter).max(*newest);
    }

    /// Removes the promises that the operation ends.
    fn end(&mut self, now: u64, op: &Op, reply: &Reply) {
        match (op, reply) {
            (Op::Release { ticket, used, .. }, reply) => {
                let promise = self.promises.remove(ticket);
                let kept = matches!(reply, Reply::Released { .. });
                assert!(kept || promise.is_none(), "{promise:?} was not kept, {now}");
                let token = self.held.get(ticket).copied();
                let lent = self.lent.get(ticket).copied();
                if kept && lent == Some(*used) && token == lent {
                    self.signals -= 1;
                }
            }
            (
                Op::Adopt {
                    old,
                    lease: Lease { ticket, .. },
                    ..
                },
                Reply::Granted { .. },
            ) => {
                self.promises.remove(old);
                let longest = self.longest.get(old).copied().unwrap_or_default();
                let entry = self.longest.entry(*ticket).or_default();
                *entry = (*entry).max(longest);
            }
            (Op::Force, _) => self.promises.clear(),
            (Op::Kick { token, .. }, reply) => {
                let before = self.promises.len();
                self.promises.retain(|_, promise| promise.token != *token);
                let kicked = before - self.promises.len();
                let freed = matches!(reply, Reply::Count(holders) if *holders >= kicked as u64);
                assert!(
                    freed,
                    "{kicked} promises of token {token} ended with {reply:?}"
                );
            }
            (Op::Signal { .. }, Reply::Count(count)) => self.signals += count,
            (Op::Delete, Reply::Count(_)) => self.signals = 0,
            _ => {}
        }
    }

    fn told(&mut self, now: u64, (_, message): &(MemberId, Message)) {
        let Message::Grant {
            ticket,
            token,
            hold,
            signal,
            ..
        } = message
        else {
            return;
        };
        let hold = hold.as_micros() as u64;
        self.promise(now, *ticket, hold, *token, true);
        if signal.is_some() {
            self.lent.insert(*ticket, *token);
        }
    }

    fn granted(&mut self, now: u64, opens: u64, op: &Op, reply: &Reply) {
        let Reply::Granted { token, signal } = reply else {
            return;
        };
        match *op {
            Op::Acquire { lease, .. } | Op::Touch { lease, .. } | Op::Adopt { lease, .. } => {
                let Lease { ticket, hold, .. } = lease;
                let unclaimed = self.is_unclaimed(ticket) && now < opens;
                assert!(!unclaimed, "{op:?} claimed while nothing is granted");
                let hold = hold.as_micros() as u64;
                let newest = self.counters.get(&ticket).copied();
                // A late request of a holder changes nothing, unless the record is a new one.
                let hold = match self.promises.get(&ticket) {
                    _ if newest == Some(lease.counter) => hold,
                    Some(before) if before.provisional => hold,
                    before => before.map_or(0, |before| hold.min(before.ends - now)),
                };
                self.promise(now, ticket, hold, *token, false);
            }
            Op::Raise { ticket, .. } => {
                if let Some(promise) = self.promises.get_mut(&ticket) {
                    promise.token = *token;
                }
            }
            _ => panic!("{op:?} was granted"),
        }
        if let (Some(_), Some(ticket)) = (signal, op.ticket()) {
            self.lent.insert(ticket, *token);
        }
    }

    fn promise(&mut self, now: u64, ticket: Ticket, hold: u64, token: u64, provisional: bool) {
        let promise = Promise {
            ends: now + hold,
            hold,
            token,
            provisional,
        };
        self.promises.insert(ticket, promise);
    }

    /// Checks that the state after the operation agrees with the reply.
    fn stands(&self, closed: bool, op: &Op, reply: &Reply, info: &NameRecord) {
        let Some(ticket) = op.ticket() else {
            return;
        };
        let is_in = |records: &[TicketRecord]| records.iter().any(|record| record.ticket == ticket);
        let fits = match reply {
            // A ticket with a provisional grant cannot claim it now. It holds until the grant ends, because its member
            // may rely on it.
            Reply::Queued { .. } | Reply::Busy { .. } if closed && is_in(&info.holders) => {
                let promise = self.promises.get(&ticket);
                promise.is_none_or(|promise| promise.provisional)
            }
            Reply::Queued { .. } => is_in(&info.waiters),
            Reply::Gone if matches!(op, Op::Raise { .. }) => true,
            Reply::Cancelled | Reply::Gone => !is_in(&info.waiters),
            Reply::Busy { .. } | Reply::Kept { .. } if matches!(op, Op::Acquire { .. }) => {
                !is_in(&info.holders) && !is_in(&info.waiters)
            }
            _ => true,
        };
        assert!(fits, "{reply:?} to {op:?}, and then {info:?}");
    }

    fn promises_are_kept(&self, now: u64, info: &NameRecord) {
        for (ticket, promise) in &self.promises {
            let holder = info.holders.iter().find(|holder| holder.ticket == *ticket);
            let kept = holder.is_some_and(|holder| {
                let ends = now + holder.left.as_micros() as u64;
                holder.token == promise.token && ends >= promise.ends && !holder.parked
            });
            assert!(
                kept || promise.ends <= now,
                "{ticket:?} was promised {promise:?}, now {now}, has {holder:?}"
            );
        }
        for holder in &info.holders {
            let longest = self.longest.get(&holder.ticket).copied();
            let left = holder.left.as_micros() as u64;
            assert!(
                longest >= Some(left),
                "{holder:?} never asked for that long"
            );
        }
    }

    fn nobody_is_too_many(&mut self, info: &NameRecord) {
        if info.capacity.is_none() {
            self.greatest = 0;
        }
        let capacity = u64::from(self.greatest.max(info.capacity.unwrap_or_default()));
        let holders = info.holders.iter().filter(|holder| !self.is_lent(holder));
        let units: u64 = holders.map(|holder| u64::from(holder.units)).sum();
        assert!(
            units <= capacity && info.used <= capacity,
            "{units} units, or {}, of {capacity} are held: {info:?}",
            info.used
        );
    }

    fn is_unclaimed(&self, ticket: Ticket) -> bool {
        let promise = self.promises.get(&ticket);
        promise.is_some_and(|promise| promise.provisional)
    }

    fn is_lent(&self, holder: &TicketRecord) -> bool {
        self.lent.get(&holder.ticket) == Some(&holder.token)
    }

    fn tokens_grow(&mut self, info: &NameRecord) {
        assert!(info.token >= self.token, "{} before {info:?}", self.token);
        for (number, holder) in info.holders.iter().enumerate() {
            let mut before = info.holders[..number].iter();
            let twin = before.find(|twin| twin.token == holder.token);
            assert!(twin.is_none(), "{twin:?} and {holder:?}");
            let known = self.seen.get(&holder.ticket) == Some(&holder.token);
            assert!(
                known || holder.token > self.token,
                "{holder:?} came behind {}",
                self.token
            );
            assert!(holder.token <= info.token, "{info:?}");
        }
        self.token = info.token;
        let holders = info.holders.iter();
        let held = holders.map(|holder| (holder.ticket, holder.token));
        self.seen.extend(held.clone());
        self.held = held.collect();
    }

    fn no_signal_is_lost_or_doubled(&self, info: &NameRecord) {
        let lent = info.holders.iter().filter(|holder| self.is_lent(holder));
        let there = info.signals + lent.count() as u64;
        assert_eq!(there, self.signals, "signals that wait or are held");
    }
}
