//! The state of one name: the reference model of `docs/protocol.md`, for any clock and without threads. Every operation
//! except [`Op::Inspect`] and [`Op::Probe`] prunes, does its own part, and grants.

mod answer;
mod grant;
mod operations;
mod prune;
mod signal;
#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::Record;
use crate::store::limits::{KEPT_MS, SIGNALS_KEPT_MS};
use crate::store::{MemberId, Message, Op, Reply, Ticket, TicketMap};

/// Sends a message to a member; `false` if the member does not listen.
pub type Publish<'a> = dyn FnMut(MemberId, Message) -> bool + 'a;

/// The state of one name, and the rules of the locks in plain Rust: the reference with which each engine is compared.
///
/// The fields are explained in the table in `docs/protocol.md`; times are in microseconds.
#[derive(Clone, Debug, Default)]
pub struct State {
    token: u64,
    capacity: Option<u32>,
    places: u64,
    clock: u64,
    /// Whether the name was used, and not deleted afterwards.
    known: bool,
    /// The available signals, by number. A signal that is given back keeps its number, and so its order.
    signals: BTreeMap<u64, Arc<str>>,
    last_signal: u64,
    records: TicketMap<Record>,
    /// The end of each lease. Holders are few (a mutex has one), so a vector suffices.
    held: Vec<(u64, Ticket)>,
    queue: BTreeMap<u64, Ticket>,
    quiet: BTreeMap<u64, Ticket>,
    gone: TicketMap<u64>,
}

struct Step<'a, 'p> {
    now: u64,
    /// Nothing is granted before this time.
    grants_from: u64,
    member: MemberId,
    /// The ticket whose member gets the reply.
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

    /// Whether only the fencing token is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty() && self.signals.is_empty()
    }

    /// When the state may be dropped: some time after its last lease, place or tombstone has ended.
    pub(crate) fn kept_until(&self) -> u64 {
        let leases = self.held.iter().map(|held| held.0);
        let ends = leases
            .chain(self.places_end())
            .chain(self.gone.values().copied());
        let kept = if self.has_signals() {
            SIGNALS_KEPT_MS
        } else {
            KEPT_MS
        };
        // Each grant raises the token by a microsecond, so fast grants bring it ahead of the clock.
        let used = self.clock.max(self.token);
        ends.fold(used, u64::max).saturating_add(kept * 1000)
    }

    fn holders(&self) -> impl Iterator<Item = &Record> {
        self.held
            .iter()
            .filter_map(|(_, ticket)| self.records.get(ticket))
    }

    fn places_end(&self) -> impl Iterator<Item = u64> {
        let waiters = self.records.values().filter(|record| record.is_waiting());
        waiters.map(Record::place_ends)
    }

    /// Frees the memory that an idle name does not need: there may be a million idle names.
    pub(crate) fn shrink(&mut self) {
        if self.is_idle() {
            *self = Self {
                token: self.token,
                clock: self.clock,
                known: self.known,
                ..Self::default()
            };
        }
    }

    /// Runs an operation of `member` at the time `now` of the store, in microseconds.
    pub fn apply(
        &mut self,
        now: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        self.apply_until_open(now, 0, member, op, publish)
    }

    /// Like [`apply`](Self::apply), on a store that grants nothing before `grants_from`.
    pub fn apply_until_open(
        &mut self,
        now: u64,
        grants_from: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        match op {
            Op::Inspect => return self.inspect(now),
            Op::Probe { to, text } => {
                let text = (**text).into();
                let heard = publish(*to, Message::Probe { from: member, text });
                return Reply::Told {
                    holders: heard.into(),
                };
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
        let releasing = match *op {
            Op::Release { ticket, .. } => Some(ticket),
            _ => None,
        };
        self.prune(now, releasing);
        self.clock = now;
        match op {
            Op::Acquire {
                lease,
                share,
                mode,
                meta,
            } => self.acquire(&mut step, *lease, share, *mode, meta),
            Op::Touch { lease, units } => self.touch(&mut step, *lease, *units),
            &Op::Release {
                ticket,
                park,
                tomb,
                used,
            } => self.release(&mut step, (ticket, used), park, tomb),
            Op::Adopt { old, lease, meta } => self.adopt(&mut step, *old, *lease, meta),
            Op::Force { owner } => self.force(&mut step, owner),
            Op::Kick { token } => self.kick(&mut step, *token),
            Op::Refresh { owner, expire } => self.refresh(&mut step, owner, *expire),
            Op::Raise { ticket, token } => self.raise(&mut step, *ticket, *token),
            Op::Signal { ticket, signal } => self.signal(&mut step, *ticket, signal),
            Op::Delete => self.delete(&mut step),
            Op::Inspect | Op::Probe { .. } => unreachable!("answered above"),
        }
    }
}
