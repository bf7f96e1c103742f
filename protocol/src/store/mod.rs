//! The state of one name: the reference model of `docs/protocol.md`, for any clock and without threads. Every operation
//! except [`Op::Inspect`] and [`Op::Probe`] prunes, does its own part, and then grants.

mod answer;
mod bytes;
mod grant;
mod operations;
mod prune;
#[cfg(all(test, repository, not(shuttle)))]
mod tests;
#[cfg(any(test, feature = "test-util"))]
mod visit;

pub use self::bytes::BytesError;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;
use core::time::Duration;

use crate::{
    KickRecord, Lease, Limits, MemberId, Message, Op, Reply, Retain, SharedStr, Ticket, millis,
};

/// What an operation depends on, beside the state of its name.
pub struct Env<'a> {
    /// The store's time, in microseconds.
    pub now: u64,
    /// The store grants nothing before this time; zero means that it grants.
    pub grants_from: u64,
    /// Whose operation it is.
    pub member: MemberId,
    /// The durations.
    pub limits: &'a Limits,
    /// Whether a member hears what the store tells it. Who doesn't is granted nothing.
    pub hears: &'a dyn Fn(MemberId) -> bool,
}

/// The state of one name, and the rules of locks in plain Rust. Engines are compared with it.
///
/// A table in `docs/protocol.md` explains the fields. Times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    token: u64,
    capacity: Option<u32>,
    places: u64,
    clock: u64,
    known: bool,
    /// A returned signal keeps its number and thus its order.
    signals: BTreeMap<u64, Arc<str>>,
    last_signal: u64,
    records: BTreeMap<Ticket, Record>,
    /// Few (one for a mutex), so a vector suffices.
    held: Vec<(u64, Ticket)>,
    queue: BTreeMap<u64, Ticket>,
    quiet: BTreeMap<u64, Ticket>,
    gone: BTreeMap<Ticket, u64>,
    kick: Option<Box<KickRecord>>,
}

/// Waiters are `Plain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Flag {
    Plain,
    /// Granted by another ticket's operation, and not claimed by the holder's member yet.
    Provisional,
    /// Released, but kept until its `at_least` is over.
    Parked,
}

/// See `docs/protocol.md`; `place`, `heard`, `told` and `token` are times in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Record {
    place: u64,
    units: u32,
    capacity: u32,
    takes: bool,
    /// Held instead of units.
    signal: Option<(u64, Arc<str>)>,
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

    /// The units that it holds.
    fn weight(&self) -> u64 {
        if self.signal.is_some() {
            0
        } else {
            u64::from(self.units)
        }
    }
}

/// An operation while it runs.
struct Step<'a> {
    env: &'a Env<'a>,
    own: Option<Ticket>,
    messages: &'a mut Vec<(MemberId, Message)>,
}

impl<'a> Deref for Step<'a> {
    type Target = Env<'a>;

    fn deref(&self) -> &Env<'a> {
        self.env
    }
}

impl Step<'_> {
    fn is_closed(&self) -> bool {
        self.now < self.grants_from
    }

    /// Returns `false` if the member does not hear it.
    fn tell(&mut self, member: MemberId, message: Message) -> bool {
        self.messages.push((member, message));
        (self.hears)(member)
    }
}

fn micros(duration: Duration) -> u64 {
    millis(duration) * 1000
}

impl State {
    /// The last token; zero if it is forgotten.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Whether there is neither a ticket, nor a tombstone, nor a signal.
    pub fn is_idle(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty() && self.signals.is_empty()
    }

    /// When the state may be dropped, in microseconds: a while after its last lease, place or tombstone has ended.
    pub fn kept_until(&self, limits: &Limits) -> u64 {
        let leases = self.held.iter().map(|held| held.0);
        let ends = leases
            .chain(self.places_end())
            .chain(self.gone.values().copied());
        let kept = if self.has_signals() || self.kick.is_some() {
            limits.signals_kept
        } else {
            limits.kept
        };
        // Each grant raises the token by a microsecond, so fast grants run ahead of the clock.
        let used = self.clock.max(self.token);
        ends.fold(used, u64::max).saturating_add(micros(kept))
    }

    fn record(&self, ticket: Ticket) -> Option<&Record> {
        self.records.get(&ticket)
    }

    fn holders(&self) -> impl Iterator<Item = &Record> {
        self.held
            .iter()
            .filter_map(|(_, ticket)| self.record(*ticket))
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
        waiters.map(|record| record.place_ends())
    }

    /// Frees unused memory: there may be a million idle names.
    pub fn shrink(&mut self) {
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

    /// Runs an operation. Adds what the store publishes to `messages`, in order, also for members that do not hear it.
    pub fn on(&mut self, op: &Op, env: &Env<'_>, messages: &mut Vec<(MemberId, Message)>) -> Reply {
        match op {
            Op::Inspect { above } => return Reply::Info(self.inspect(env.now, *above, env.limits)),
            Op::Probe { to, text } => {
                let (from, text) = (env.member, (**text).into());
                let mut step = Step {
                    env,
                    own: None,
                    messages,
                };
                let heard = step.tell(*to, Message::Probe { from, text });
                return Reply::Count(heard.into());
            }
            _ => {}
        }
        let own = op.lease().map(|lease| lease.ticket);
        let mut step = Step { env, own, messages };
        self.prune(env, op.ticket(), matches!(op, Op::Release { .. }));
        self.clock = env.now;
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
            // A lock that is only kept is nobody's loss.
            Op::Force => Some(Reply::Count(self.drop_holders(&mut step, |_| true).0)),
            Op::Kick { token, by } => {
                let chosen = |record: &Record| record.token == *token;
                let (_, dropped) = self.drop_holders(&mut step, chosen);
                if dropped > 0 {
                    self.kick = Some(Box::new(KickRecord {
                        at: env.now,
                        token: *token,
                        by: by.clone(),
                    }));
                }
                Some(Reply::Count(dropped))
            }
            Op::Raise { ticket, token } => self.raise(*ticket, *token),
            Op::Signal { ticket, signal } => self.signal(&step, *ticket, signal),
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
