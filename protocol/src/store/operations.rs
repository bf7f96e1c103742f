//! What each operation does after pruning. Most leave granting to their caller.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Flag, Record, State, Step, micros};
use crate::{
    Lease, LockKind, Message, Mode, Reply, Retain, Share, SharedStr, Signal, Ticket, millis,
};

impl State {
    pub(super) fn acquire(
        &mut self,
        step: &mut Step<'_>,
        lease: Lease,
        share: &Share,
        mode: Mode,
        meta: &SharedStr,
    ) -> Reply {
        let ticket = lease.ticket;
        let capacity = match self.accept(ticket, share) {
            Ok(capacity) => capacity,
            Err(refusal) => {
                // This reply is a refusal, so the ticket must not be granted anything.
                step.own = None;
                self.grant(step);
                return match refusal {
                    // The lock is free, so it can become one of another kind.
                    Reply::Mismatch { .. } => self.recalled(step).unwrap_or(refusal),
                    refusal => refusal,
                };
            }
        };
        let is_known = self.renew(step, lease);
        if is_known {
            let waiter = self.records.get_mut(&ticket);
            if let Some(record) = waiter.filter(|record| record.is_waiting()) {
                record.meta = meta.clone();
            }
        } else {
            // The place is the time of arrival, raised if needed to make it unique.
            self.places = step.now.max(self.places + 1);
            let record = Record {
                place: self.places,
                units: share.units,
                capacity: share.capacity,
                takes: share.takes(),
                signal: None,
                hold_ms: millis(lease.hold),
                place_ms: millis(lease.place),
                counter: lease.counter,
                heard: step.now,
                // A new waiter touches soon anyway, and need not be notified.
                told: step.now,
                token: 0,
                flag: Flag::Plain,
                retain: lease.retain,
                member: step.member,
                meta: meta.clone(),
            };
            if let Some(token) = self.take_in(step, ticket, capacity, record) {
                return Reply::Granted {
                    token,
                    signal: None,
                };
            }
        }
        self.grant(step);
        let reply = self.status_of(step, ticket);
        let Reply::Queued { holder, .. } = &reply else {
            return reply;
        };
        // A lock for which clients wait is not kept.
        if let Some(record) = self.records.get_mut(&ticket) {
            record.retain = Retain::No;
        }
        let kept = self.recalled(step);
        if mode == Mode::Queue {
            return reply;
        }
        let holder = holder.clone();
        // A ticket that cannot claim its grant now stays, because its member may still rely on that grant.
        if !self.is_unclaimed(step, ticket) {
            self.drop_waiter(ticket);
            self.forget_if_empty();
        }
        kept.unwrap_or(Reply::Busy { holder })
    }

    /// Returns the token if this is the only ticket and may be granted.
    #[inline]
    fn take_in(
        &mut self,
        step: &Step<'_>,
        ticket: Ticket,
        capacity: u32,
        mut record: Record,
    ) -> Option<u64> {
        self.known = true;
        self.capacity = Some(capacity);
        let alone = self.records.is_empty() && self.signals.is_empty();
        let granted = record.units <= capacity && alone && !step.is_closed();
        if granted {
            self.token = step.now.max(self.token + 1);
            record.token = self.token;
            self.held.push((step.now + record.hold_ms * 1000, ticket));
        } else {
            self.queue.insert(record.place, ticket);
        }
        self.records.insert(ticket, record);
        granted.then_some(self.token)
    }

    /// The capacity of the name with this ticket, or why the ticket is refused.
    fn accept(&self, ticket: Ticket, share: &Share) -> Result<u32, Reply> {
        let record = self.record(ticket);
        if share.units > share.capacity && !share.takes() {
            return Err(Reply::TooMany);
        }
        if self.gone.contains_key(&ticket) || record.is_some_and(Record::is_parked) {
            return Err(Reply::Refused);
        }
        match self.capacity {
            Some(capacity) if record.is_none() && capacity != share.capacity => self.agree(share),
            _ => Ok(share.capacity),
        }
    }

    /// Tickets of a semaphore may come with several capacities, while a new version of a program is rolled out: the
    /// smallest counts, unless somebody asks for more units.
    fn agree(&self, share: &Share) -> Result<u32, Reply> {
        let order = |it: &&Record| {
            let is_quiet = self.quiet.contains_key(&it.place);
            (it.capacity, it.is_waiting(), is_quiet, it.token, it.place)
        };
        let Some(least) = self.records.values().min_by_key(order) else {
            return Ok(share.capacity);
        };
        let (capacity, takes) = (least.capacity, least.takes);
        let smallest = capacity.min(share.capacity);
        let agrees = |units, capacity, takes| {
            units <= smallest
                && capacity > 0
                && LockKind::of(capacity, takes) == LockKind::Semaphore
        };
        let mut all = self.records.values();
        if agrees(share.units, share.capacity, share.takes())
            && all.all(|it| agrees(it.units, it.capacity, it.takes))
        {
            Ok(smallest)
        } else {
            Err(Reply::Mismatch { capacity, takes })
        }
    }

    /// Returns `None` if the reply is the ticket's state after granting.
    pub(super) fn touch(&mut self, step: &Step<'_>, lease: Lease, units: u32) -> Option<Reply> {
        let before = self.records.get(&lease.ticket);
        let is_late = before.is_some_and(|record| record.outruns(lease));
        let known = self.renew(step, lease);
        let may_claim = !self.is_unclaimed(step, lease.ticket);
        let alone = self.held.len() == 1 && !step.is_closed();
        if let Some(record) = self.records.get_mut(&lease.ticket)
            && record.token > 0
            && !record.is_parked()
            && !is_late
        {
            if units > 0 {
                record.units = record.units.min(units);
            }
            if may_claim {
                let retain = match alone && record.signal.is_none() {
                    true => lease.retain,
                    false => Retain::No,
                };
                // The calls since the last touch have used fencing tokens up to this one.
                if retain == Retain::Kept || record.retain == Retain::Kept && retain != Retain::No {
                    self.token = step.now.max(self.token + 1);
                    record.token = self.token;
                }
                record.retain = retain;
            }
        }
        (!known).then_some(Reply::Gone)
    }

    pub(super) fn adopt(
        &mut self,
        step: &Step<'_>,
        old: Ticket,
        lease: Lease,
        meta: &SharedStr,
    ) -> Option<Reply> {
        let ticket = lease.ticket;
        let now = step.now;
        if self.gone.contains_key(&ticket) {
            return Some(Reply::Refused);
        }
        if self.renew(step, lease) {
            return None;
        }
        if self.records.contains_key(&ticket) || self.record(old).is_some_and(Record::is_parked) {
            return Some(Reply::Gone);
        }
        let Some(held) = self.held.iter_mut().find(|held| held.1 == old) else {
            return Some(Reply::Gone);
        };
        if step.is_closed() {
            return Some(Reply::Busy { holder: None });
        }
        let record = self.records.remove(&old)?;
        self.token = now.max(self.token + 1);
        let record = Record {
            hold_ms: millis(lease.hold),
            place_ms: millis(lease.place),
            counter: lease.counter,
            heard: now,
            told: 0,
            token: self.token,
            flag: Flag::Plain,
            retain: Retain::No,
            member: step.member,
            meta: meta.clone(),
            ..record
        };
        *held = (now + record.hold_ms * 1000, ticket);
        self.records.insert(ticket, record);
        None
    }

    pub(super) fn release(
        &mut self,
        step: &mut Step<'_>,
        (ticket, used): (Ticket, u64),
        park: Duration,
        tomb: bool,
    ) -> Reply {
        let capacity = self.capacity.unwrap_or(0);
        let reply = self.leave(step.now, ticket, park, used);
        if tomb {
            let until = step.now + micros(step.limits.tombstone);
            self.gone.insert(ticket, until);
        }
        self.grant(step);
        match reply {
            Reply::Released { .. } => Reply::Released {
                free: u64::from(capacity).saturating_sub(self.used()) + self.signals.len() as u64,
            },
            reply => reply,
        }
    }

    fn leave(&mut self, now: u64, ticket: Ticket, park: Duration, used: u64) -> Reply {
        let Some(record) = self.records.get_mut(&ticket) else {
            return Reply::Gone;
        };
        let Some(index) = self.held.iter().position(|held| held.1 == ticket) else {
            self.drop_waiter(ticket);
            return Reply::Cancelled;
        };
        let released = Reply::Released { free: 0 };
        if record.is_parked() {
            return released;
        }
        let park_ms = millis(park);
        if park_ms > 0 && record.signal.is_none() {
            record.flag = Flag::Parked;
            record.retain = Retain::No;
            record.hold_ms = park_ms;
            self.held[index].0 = now + park_ms * 1000;
        } else {
            self.held.swap_remove(index);
            if let Some(record) = self.records.remove(&ticket)
                && record.token != used
            {
                self.signals.extend(record.signal);
            }
        }
        released
    }

    /// Returns how many of those that it drops have a call inside, as far as the store knows, and how many it drops.
    pub(super) fn drop_holders(
        &mut self,
        step: &mut Step<'_>,
        is_chosen: impl Fn(&Record) -> bool,
    ) -> (u64, u64) {
        let records = &self.records;
        let chosen = |held: &mut (u64, Ticket)| records.get(&held.1).is_some_and(&is_chosen);
        let dropped: Vec<_> = self.held.extract_if(.., chosen).collect();
        let mut used = 0;
        for &(_, ticket) in &dropped {
            if let Some(record) = self.records.remove(&ticket) {
                used += u64::from(record.retain != Retain::Kept);
                step.tell(record.member, Message::Lost { ticket });
                self.signals.extend(record.signal);
            }
        }
        (used, dropped.len() as u64)
    }

    pub(super) fn raise(&mut self, ticket: Ticket, token: u64) -> Option<Reply> {
        let record = self.records.get_mut(&ticket);
        let holder = record.filter(|record| record.token > 0 && !record.is_parked());
        let Some(record) = holder else {
            return Some(Reply::Gone);
        };
        if record.token < token {
            record.token = token.max(self.token + 1);
            self.token = record.token;
        }
        None
    }

    pub(super) fn signal(
        &mut self,
        step: &Step<'_>,
        ticket: Ticket,
        signal: &Signal,
    ) -> Option<Reply> {
        if self.gone.contains_key(&ticket) {
            return Some(Reply::Refused);
        }
        let waiting = self.queue.len() + self.quiet.len();
        let unserved = waiting.saturating_sub(self.signals.len()) as u64;
        let (count, token) = match signal {
            Signal::Token(token) => {
                self.known = true;
                let until = step.now + micros(step.limits.tombstone);
                self.gone.insert(ticket, until);
                (1, token.clone())
            }
            Signal::One => (unserved.min(1), ticket.to_string().into()),
            Signal::All => (unserved, ticket.to_string().into()),
        };
        for _ in 0..count {
            self.last_signal += 1;
            self.signals.insert(self.last_signal, token.clone());
        }
        Some(Reply::Count(count))
    }

    pub(super) fn delete(&mut self, step: &mut Step<'_>) -> Reply {
        self.grant(step);
        if !self.records.is_empty() {
            return Reply::InUse {
                holders: self.held.len() as u64,
                waiters: (self.records.len() - self.held.len()) as u64,
            };
        }
        let existed = self.known || !self.signals.is_empty();
        self.known = false;
        self.signals.clear();
        self.last_signal = 0;
        Reply::Count(existed.into())
    }

    /// Returns `false` if the ticket is unknown or parked.
    pub(super) fn renew(&mut self, step: &Step<'_>, lease: Lease) -> bool {
        let ticket = lease.ticket;
        let now = step.now;
        let unclaimed = self.is_unclaimed(step, ticket);
        let Some(record) = self.records.get_mut(&ticket) else {
            return false;
        };
        if record.is_parked() {
            return false;
        }
        // A late copy may ask for a shorter lease than the request that the member relies on.
        if record.outruns(lease) {
            return true;
        }
        record.counter = record.counter.max(lease.counter);
        record.heard = now;
        record.place_ms = millis(lease.place);
        // A grant that can't be claimed now is neither extended nor withdrawn, because the member may rely on it.
        if unclaimed {
            return true;
        }
        record.hold_ms = millis(lease.hold);
        if let Some(held) = self.held.iter_mut().find(|held| held.1 == ticket) {
            held.0 = now + record.hold_ms * 1000;
            record.flag = Flag::Plain;
        } else {
            record.told = 0;
            self.quiet.remove(&record.place);
            self.queue.insert(record.place, ticket);
        }
        true
    }

    pub(super) fn is_unclaimed(&self, step: &Step<'_>, ticket: Ticket) -> bool {
        let is_provisional = |record: &Record| record.flag == Flag::Provisional;
        // The first test is nearly always false, which avoids the lookup.
        step.is_closed()
            && step.own == Some(ticket)
            && self.record(ticket).is_some_and(is_provisional)
    }
}
