//! The state of one name: the reference model of `docs/protocol.md` in plain Rust.
//!
//! Time and the channel to the members are handed in, so this runs on any clock and without threads. Which
//! names exist and who listens is not known here. An operation prunes, does its own part, and grants.

mod alone;
mod answer;
mod grant;
mod operations;
mod prune;
mod signal;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::Record;
pub(in crate::store::memory) use crate::store::limits::CLAIM_MS;
use crate::store::limits::{KEPT_MS, NEAR, NEAR_MS, SIGNALS_KEPT_MS, TOMB_MS};
use crate::store::{MemberId, Message, Op, Reply, Ticket, TicketMap};

const TOMB_US: u64 = TOMB_MS * 1000;
const KEPT_US: u64 = KEPT_MS * 1000;
const SIGNALS_KEPT_US: u64 = SIGNALS_KEPT_MS * 1000;

/// Tells a member; `false` if nobody listens.
pub(crate) type Publish<'a> = dyn FnMut(MemberId, Message) -> bool + 'a;

/// See the table in `docs/protocol.md`; times are microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    token: u64,
    capacity: Option<u32>,
    places: u64,
    clock: u64,
    /// Used, and not deleted since.
    known: bool,
    /// In order of signalling; one that comes back has its number still.
    signals: BTreeMap<u64, Arc<str>>,
    last_signal: u64,
    records: TicketMap<Record>,
    /// Ends of leases. Short (a mutex has one), so a plain vector.
    held: Vec<(u64, Ticket)>,
    queue: BTreeMap<u64, Ticket>,
    quiet: BTreeMap<u64, Ticket>,
    waits: TicketMap<u64>,
    gone: TicketMap<u64>,
}

/// One operation under way: whose it is and when.
struct Step<'a, 'p> {
    now: u64,
    /// Before this nothing is granted.
    opens: u64,
    member: MemberId,
    /// The ticket that the reply of this operation reaches.
    own: Option<Ticket>,
    publish: &'a mut Publish<'p>,
}

impl Step<'_, '_> {
    fn is_closed(&self) -> bool {
        self.now < self.opens
    }
}

impl State {
    /// The last fencing time given.
    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// Whether only the fencing token is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty() && self.signals.is_empty()
    }

    /// When the state may be forgotten, if no operation comes: some time after all that is in it has ended.
    pub(crate) fn kept_until(&self) -> u64 {
        let leases = self.held.iter().map(|held| held.0);
        let ends = leases.chain(self.waits.values().chain(self.gone.values()).copied());
        let kept = if self.has_signals() {
            SIGNALS_KEPT_US
        } else {
            KEPT_US
        };
        // Many grants within a microsecond bring the token ahead of the clock.
        let used = self.clock.max(self.token);
        ends.fold(used, u64::max).saturating_add(kept)
    }

    /// Gives back what an idle name has no use for: there may be a million of them.
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

    /// Runs one operation of `member` at `now`.
    pub(crate) fn apply(
        &mut self,
        now: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        self.apply_until_open(now, 0, member, op, publish)
    }

    /// As [`apply`](Self::apply), on a store that grants nothing before `opens`.
    pub(crate) fn apply_until_open(
        &mut self,
        now: u64,
        opens: u64,
        member: MemberId,
        op: &Op,
        publish: &mut Publish<'_>,
    ) -> Reply {
        let mut step = Step {
            now,
            opens,
            member,
            own: None,
            publish,
        };
        match *op {
            Op::Inspect => return self.inspect(now),
            Op::Acquire { ticket, .. } | Op::Touch { ticket, .. } | Op::Adopt { ticket, .. } => {
                step.own = Some(ticket);
            }
            _ => {}
        }
        let releasing = match *op {
            Op::Release { ticket, .. } => Some(ticket),
            _ => None,
        };
        self.prune(now, releasing);
        self.clock = now;
        match op {
            Op::Acquire { .. } => self.acquire(&mut step, op),
            Op::Touch { .. } => self.touch(&mut step, op),
            Op::Release { .. } => self.release(&mut step, op),
            Op::Adopt { .. } => self.adopt(&mut step, op),
            Op::Force { owner } => self.force(&mut step, owner),
            Op::Refresh { owner, expire } => self.refresh(&mut step, owner, *expire),
            Op::Raise { ticket, token } => self.raise(&mut step, *ticket, *token),
            Op::Signal { ticket, signal } => self.signal(&mut step, *ticket, signal),
            Op::Delete => self.delete(&mut step),
            Op::Inspect => unreachable!("answered above"),
        }
    }
}
