//! The state of one name: the reference model of `docs/protocol.md` in plain Rust.
//!
//! Time and the channel to the members are handed in, so this runs on any clock and without threads. Which
//! names exist and who listens is not known here.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::record::{Flag, Record, millis};
use crate::store::{
    HolderRecord, MemberId, Message, Mode, NameRecord, Op, Reply, Ticket, TicketRecord,
};

/// How long a waiter may be silent, and a grant unclaimed.
pub(super) const CLAIM_MS: u64 = 2_000;
/// How long a tombstone refuses its ticket.
const TOMB_US: u64 = 30_000_000;
/// How often the first waiters ask again at least.
const NEAR_MS: u64 = 667;
/// How many waiters count as the first.
const NEAR: usize = 3;

/// Tells a member; `false` if nobody listens.
pub(crate) type Publish<'a> = dyn FnMut(MemberId, Message) -> bool + 'a;

/// See the table in `docs/protocol.md`; times are microseconds.
#[derive(Debug, Default)]
pub(crate) struct State {
    token: u64,
    capacity: u32,
    places: u64,
    clock: u64,
    records: HashMap<Ticket, Record>,
    /// Ends of leases. Short (a mutex has one), so a plain vector.
    held: Vec<(u64, Ticket)>,
    queue: BTreeMap<u64, Ticket>,
    quiet: BTreeMap<u64, Ticket>,
    waits: HashMap<Ticket, u64>,
    gone: HashMap<Ticket, u64>,
}

/// One operation under way: whose it is and when.
struct Step<'a, 'p> {
    now: u64,
    member: MemberId,
    /// The ticket that the reply of this operation reaches.
    own: Option<Ticket>,
    publish: &'a mut Publish<'p>,
}

impl State {
    /// Whether only the fencing token is left, so that the state may be forgotten in time.
    pub(crate) fn is_idle(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty()
    }

    /// When an operation last wrote here.
    pub(crate) fn last_used(&self) -> u64 {
        self.clock
    }

    /// Runs one operation of `member` at `now`.
    pub(crate) fn apply(
        &mut self,
        now: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        let mut step = Step {
            now,
            member,
            own: None,
            publish,
        };
        match *op {
            Op::Inspect => return self.inspect(now),
            Op::Acquire { ticket, .. } | Op::Touch { ticket, .. } | Op::Adopt { ticket, .. } => {
                step.own = Some(ticket);
            }
            Op::Release { .. } | Op::Force => {}
        }
        self.prune(now);
        self.clock = now;
        match op {
            Op::Acquire { .. } => self.acquire(&mut step, op),
            &Op::Touch {
                ticket,
                counter,
                hold,
                place,
            } => {
                let known = self.hear(now, ticket, counter, hold, place);
                self.grant(&mut step);
                if known {
                    self.standing(now, ticket)
                } else {
                    Reply::Gone
                }
            }
            &Op::Release { ticket, park, tomb } => {
                let reply = self.release(now, ticket, park);
                if tomb {
                    self.gone.insert(ticket, now + TOMB_US);
                }
                self.grant(&mut step);
                reply
            }
            Op::Adopt { .. } => self.adopt(&mut step, op),
            Op::Force => {
                let dropped: Vec<_> = self.held.drain(..).collect();
                for &(_, ticket) in &dropped {
                    if let Some(record) = self.records.remove(&ticket) {
                        (step.publish)(record.member, Message::Lost { ticket });
                    }
                }
                self.grant(&mut step);
                Reply::Freed {
                    holders: dropped.len() as u64,
                }
            }
            Op::Inspect => unreachable!("answered above"),
        }
    }

    fn acquire(&mut self, step: &mut Step<'_, '_>, op: &Op) -> Reply {
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
    fn adopt(&mut self, step: &mut Step<'_, '_>, op: &Op) -> Reply {
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

    fn release(&mut self, now: u64, ticket: Ticket, park: Duration) -> Reply {
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
    fn hear(
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

    /// What every operation does first.
    fn prune(&mut self, now: u64) {
        if now < self.clock {
            self.step_back(now);
        }
        self.gone.retain(|_, until| *until > now);
        // In order of deadline, then of ticket: the places of unclaimed grants depend on it in no way, but
        // the replies of both stores are compared one by one.
        if self.held.iter().any(|held| held.0 <= now) {
            self.held.sort_unstable();
            let over = self.held.partition_point(|held| held.0 <= now);
            for (_, ticket) in self.held.drain(..over).collect::<Vec<_>>() {
                self.end_lease(now, ticket);
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
    fn step_back(&mut self, now: u64) {
        for (until, ticket) in &mut self.held {
            if let Some(record) = self.records.get(ticket) {
                *until = (*until).min(now + record.hold_ms * 1000);
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
            *until = (*until).min(now + TOMB_US);
        }
    }

    fn end_lease(&mut self, now: u64, ticket: Ticket) {
        let Some(record) = self.records.get_mut(&ticket) else {
            return;
        };
        let place_ends = record.heard + record.place_ms * 1000;
        if record.flag == Flag::Provisional && place_ends > now {
            record.flag = Flag::Plain;
            record.told = 0;
            record.token = 0;
            self.quiet.insert(record.place, ticket);
            self.waits.insert(ticket, place_ends);
        } else {
            self.records.remove(&ticket);
        }
    }

    fn drop_waiter(&mut self, ticket: Ticket) {
        if let Some(record) = self.records.remove(&ticket) {
            self.queue.remove(&record.place);
            self.quiet.remove(&record.place);
        }
        self.waits.remove(&ticket);
    }

    /// What every operation does last.
    fn grant(&mut self, step: &mut Step<'_, '_>) {
        while let Some((&place, &ticket)) = self.queue.first_key_value() {
            let used = self.used();
            let Some(record) = self.records.get_mut(&ticket) else {
                self.queue.remove(&place);
                continue;
            };
            if used + u64::from(record.units) > u64::from(self.capacity) {
                break;
            }
            let token = step.now.max(self.token + 1);
            let own = step.own == Some(ticket);
            let hold_ms = if own {
                record.hold_ms
            } else {
                record.hold_ms.min(CLAIM_MS)
            };
            if !own && !record.answers(step.now, step.member, token, hold_ms, ticket, step.publish)
            {
                record.told = 0;
                self.queue.remove(&place);
                self.quiet.insert(place, ticket);
                continue;
            }
            record.flag = if own { Flag::Plain } else { Flag::Provisional };
            record.token = token;
            self.token = token;
            self.held.push((step.now + hold_ms * 1000, ticket));
            self.queue.remove(&place);
            self.waits.remove(&ticket);
        }
        for &ticket in self.queue.values().take(NEAR) {
            let Some(record) = self.records.get_mut(&ticket) else {
                continue;
            };
            if record.told == 0 {
                record.told = step.now;
                if step.own != Some(ticket) {
                    (step.publish)(record.member, Message::Near { ticket });
                }
            }
        }
        self.forget_if_empty();
    }

    fn forget_if_empty(&mut self) {
        if self.held.is_empty() && self.queue.is_empty() && self.quiet.is_empty() {
            self.capacity = 0;
            self.places = 0;
        }
    }

    fn used(&self) -> u64 {
        let units = |held: &(u64, Ticket)| self.records.get(&held.1).map(|record| record.units);
        self.held.iter().filter_map(units).map(u64::from).sum()
    }

    /// The reply to an acquire or touch of a ticket that the store knows.
    fn standing(&self, now: u64, ticket: Ticket) -> Reply {
        let Some(record) = self.records.get(&ticket) else {
            return Reply::Gone;
        };
        let Some(index) = self.queue.values().position(|waiting| *waiting == ticket) else {
            return Reply::Granted {
                token: record.token,
            };
        };
        let again_ms = if index < NEAR {
            let first_end = self
                .held
                .iter()
                .map(|held| held.0)
                .min()
                .unwrap_or(u64::MAX);
            NEAR_MS.min(
                first_end
                    .saturating_sub(now)
                    .div_ceil(1000)
                    .saturating_add(1),
            )
        } else {
            record.place_ms / 3
        };
        Reply::Queued {
            position: index as u64 + 1,
            again: Duration::from_millis(again_ms.max(1)),
            holder: self.holder(),
        }
    }

    fn holder(&self) -> Option<HolderRecord> {
        let records = self
            .held
            .iter()
            .filter_map(|held| self.records.get(&held.1));
        let first = records.min_by_key(|record| record.token)?;
        Some(HolderRecord {
            token: first.token,
            meta: first.meta.clone(),
        })
    }

    fn inspect(&self, now: u64) -> Reply {
        let describe = |ticket: Ticket, until: u64| {
            let record = self.records.get(&ticket)?;
            (until > now).then(|| TicketRecord {
                ticket,
                member: record.member,
                units: record.units,
                token: record.token,
                meta: record.meta.clone(),
                left: Duration::from_micros(until - now),
                parked: record.flag == Flag::Parked,
            })
        };
        let mut holders: Vec<_> = self
            .held
            .iter()
            .filter_map(|&(until, ticket)| describe(ticket, until))
            .collect();
        holders.sort_by_key(|holder| holder.token);
        let mut places: Vec<_> = self.queue.iter().chain(&self.quiet).collect();
        places.sort_unstable();
        let waiters = places
            .into_iter()
            .filter_map(|(_, &ticket)| describe(ticket, *self.waits.get(&ticket)?))
            .collect();
        Reply::Info(NameRecord {
            token: self.token,
            capacity: self.capacity,
            holders,
            waiters,
        })
    }
}
