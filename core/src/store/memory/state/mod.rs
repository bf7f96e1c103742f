//! The state of one name: the reference model of `docs/protocol.md`, for any clock and without threads. Every operation
//! except [`Op::Inspect`] and [`Op::Probe`] prunes, does its own part, and then grants.

mod answer;
mod grant;
mod operations;
mod prune;
#[cfg(all(test, repository, not(shuttle)))]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::limits::{KEPT_MS, SIGNALS_KEPT_MS};
use crate::store::{
    KickRecord, Lease, MemberId, Message, Op, Reply, Retain, SharedStr, Ticket, TicketMap,
};

/// Sends a message to a member. Returns `false` if the member does not listen.
pub type Publish<'a> = dyn FnMut(MemberId, Message) -> bool + 'a;

/// The state of one name, and the rules of locks in plain Rust. Engines are compared with it.
///
/// A table in `docs/protocol.md` explains the fields. Times are in microseconds.
#[derive(Clone, Debug, Default)]
pub struct State {
    token: u64,
    capacity: Option<u32>,
    places: u64,
    clock: u64,
    known: bool,
    /// A returned signal keeps its number and thus its order.
    signals: BTreeMap<u64, Arc<str>>,
    last_signal: u64,
    records: TicketMap<Record>,
    /// Few (one for a mutex), so a vector suffices.
    held: Vec<(u64, Ticket)>,
    queue: BTreeMap<u64, Ticket>,
    quiet: BTreeMap<u64, Ticket>,
    gone: TicketMap<u64>,
    kick: Option<Box<KickRecord>>,
}

/// Waiters are `Plain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    Plain,
    /// Granted by another ticket's operation, and not claimed by the holder's member yet.
    Provisional,
    /// Released, but kept until its `at_least` is over.
    Parked,
}

/// See `docs/protocol.md`; `place`, `heard`, `told` and `token` are times in microseconds.
#[derive(Clone, Debug)]
struct Record {
    place: u64,
    units: u32,
    takes: bool,
    /// Held instead of units.
    signal: Option<(u64, Arc<str>)>,
    owner: SharedStr,
    hold_ms: u64,
    place_ms: u64,
    counter: u64,
    heard: u64,
    told: u64,
    token: u64,
    flag: Flag,
    retain: Retain,
    member: MemberId,
    meta: SharedStr,
}

impl Record {
    fn is_parked(&self) -> bool {
        self.flag == Flag::Parked
    }

    /// Whether the holder has executed a later request.
    fn outruns(&self, lease: Lease) -> bool {
        self.token > 0 && self.flag == Flag::Plain && lease.counter < self.counter
    }

    fn is_waiting(&self) -> bool {
        self.token == 0
    }

    fn place_ends(&self) -> u64 {
        self.heard + self.place_ms * 1000
    }

    /// The units that it holds, unless another holder of the same owner covers them.
    fn weight(&self) -> u64 {
        if self.signal.is_some() {
            0
        } else {
            u64::from(self.units)
        }
    }
}

struct Step<'a, 'p> {
    now: u64,
    grants_from: u64,
    member: MemberId,
    own: Option<Ticket>,
    publish: &'a mut Publish<'p>,
}

impl Step<'_, '_> {
    fn is_closed(&self) -> bool {
        self.now < self.grants_from
    }
}

impl State {
    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty() && self.signals.is_empty()
    }

    /// When the state may be dropped, in microseconds: a while after its last lease, place or tombstone has ended.
    pub fn kept_until(&self) -> u64 {
        let leases = self.held.iter().map(|held| held.0);
        let ends = leases
            .chain(self.places_end())
            .chain(self.gone.values().copied());
        let kept = if self.has_signals() || self.kick.is_some() {
            SIGNALS_KEPT_MS
        } else {
            KEPT_MS
        };
        // Each grant raises the token by a microsecond, so fast grants run ahead of the clock.
        let used = self.clock.max(self.token);
        ends.fold(used, u64::max).saturating_add(kept * 1000)
    }

    fn holders(&self) -> impl Iterator<Item = &Record> {
        self.held
            .iter()
            .filter_map(|(_, ticket)| self.records.get(ticket))
    }

    /// The waiters in the order of their places.
    fn waiters(&self) -> Vec<(u64, Ticket)> {
        let waiting = self.queue.iter().chain(&self.quiet);
        let mut waiting: Vec<_> = waiting.map(|(&place, &ticket)| (place, ticket)).collect();
        waiting.sort_unstable();
        waiting
    }

    fn places_end(&self) -> impl Iterator<Item = u64> {
        let waiters = self.records.values().filter(|record| record.is_waiting());
        waiters.map(Record::place_ends)
    }

    /// Frees unused memory: there may be a million idle names.
    pub(crate) fn shrink(&mut self) {
        if self.is_idle() {
            *self = Self {
                token: self.token,
                clock: self.clock,
                known: self.known,
                kick: self.kick.take(),
                ..Self::default()
            };
        }
    }

    /// Runs an operation of `member` at the store's time `now`, in microseconds. The store grants nothing before
    /// `grants_from`; zero means that it grants.
    pub fn apply(
        &mut self,
        now: u64,
        grants_from: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        match op {
            Op::Inspect { above } => return Reply::Info(self.inspect(now, *above)),
            Op::Probe { to, text } => {
                let text = (**text).into();
                let heard = publish(*to, Message::Probe { from: member, text });
                return Reply::Count(heard.into());
            }
            _ => {}
        }
        let mut step = Step {
            now,
            grants_from,
            member,
            own: op.lease().map(|lease| lease.ticket),
            publish,
        };
        self.prune(now, op.ticket(), matches!(op, Op::Release { .. }));
        self.clock = now;
        let reply = match op {
            Op::Acquire {
                lease,
                share,
                mode,
                meta,
            } => return self.acquire(&mut step, *lease, share, *mode, meta),
            &Op::Release {
                ticket,
                park,
                tomb,
                used,
            } => return self.release(&mut step, (ticket, used), park, tomb),
            Op::Delete => return self.delete(&mut step),
            Op::Touch { lease, units } => self.touch(&step, *lease, *units),
            Op::Adopt { old, lease, meta } => self.adopt(&step, *old, *lease, meta),
            Op::Force { owner } => self.drop_holders(&mut step, |record| {
                owner.is_empty() || record.owner == *owner
            }),
            // Holders with the same token belong to one owner and share a hold.
            Op::Kick { token, by } => {
                let dropped = self.drop_holders(&mut step, |record| record.token == *token);
                if dropped != Some(Reply::Count(0)) {
                    self.kick = Some(Box::new(KickRecord {
                        at: now,
                        token: *token,
                        by: by.clone(),
                    }));
                }
                dropped
            }
            Op::Refresh { owner, expire } => self.refresh(&mut step, owner, *expire),
            Op::Raise { ticket, token } => self.raise(*ticket, *token),
            Op::Signal { ticket, signal } => self.signal(now, *ticket, signal),
            Op::Inspect { .. } | Op::Probe { .. } => unreachable!("answered above"),
        };
        self.grant(&mut step);
        let reply = match (reply, op.ticket()) {
            (None, Some(ticket)) => self.status_of(&step, ticket),
            (reply, _) => reply.unwrap_or(Reply::Gone),
        };
        if matches!(reply, Reply::Queued { .. }) {
            self.recalled(&mut step);
        }
        reply
    }
}
