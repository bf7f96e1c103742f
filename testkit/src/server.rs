//! [`Server`]: the lock store of a World. It has the rules of the memory store, and fails as a server does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use auto_mutex_core::store::{
    Cause, Closed, Env, LIMITS, Limits, MemberId, Message, Name, NameMap, NameRecord, Op, Reply,
    State,
    clock::{self, Instant},
};

/// The server's clock when the World starts: the beginning of 2026, in microseconds.
pub(super) const EPOCH_US: u64 = 1_767_225_600_000_000;
/// How far a replica can be behind.
const LONGEST_LAG: Duration = Duration::from_secs(10);

/// An operation that was executed, for a replica that executes it later.
#[derive(Debug)]
struct Done {
    at: Instant,
    now: u64,
    grants_from: u64,
    member: MemberId,
    name: Name,
    op: Op,
    /// Whether the receiver of each message was connected.
    heard: VecDeque<bool>,
}

#[derive(Debug, Default)]
pub(super) struct Server {
    /// Other than the usual ones.
    pub(super) limits: Option<&'static Limits>,
    pub(super) names: NameMap<State>,
    replica: NameMap<State>,
    /// What the replica does not have yet.
    log: VecDeque<Done>,
    /// How far the clock was stepped, in microseconds.
    stepped: i64,
    /// Changes with each restart and failover.
    epoch: u32,
    is_down: bool,
    /// From when on it grants, by its own clock.
    pub(super) grants_from: u64,
    closed: Option<Closed>,
}

impl Server {
    fn limits(&self) -> &'static Limits {
        self.limits.unwrap_or(&LIMITS)
    }

    pub(super) fn micros(&self, now: Instant) -> u64 {
        let now = EPOCH_US + now.as_nanos() / 1000;
        now.saturating_add_signed(self.stepped)
    }

    /// The epoch, if the server runs.
    pub(super) fn epoch(&self) -> Option<u32> {
        (!self.is_down).then_some(self.epoch)
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.closed
            .filter(|closed| closed.left(clock::now()).is_some())
    }

    pub(super) fn step_clock(&mut self, micros: i64) {
        self.stepped = self.stepped.saturating_add(micros);
    }

    /// The member considers the server closed for as long as it `doubts`. Returns the reply, and what the server
    /// publishes.
    pub(super) fn execute(
        &mut self,
        member: MemberId,
        name: &Name,
        op: &Op,
        doubts: Duration,
        hears: impl Fn(MemberId) -> bool,
    ) -> (Reply, Vec<(MemberId, Message)>) {
        let at = clock::now();
        let now = self.micros(at);
        let grants_from = self.grants_from.max(now + doubts.as_micros() as u64);
        let heard = RefCell::new(VecDeque::new());
        let env = Env {
            now,
            grants_from,
            member,
            limits: self.limits(),
            hears: &|to| {
                let hears = hears(to);
                heard.borrow_mut().push_back(hears);
                hears
            },
        };
        let mut messages = Vec::new();
        let state = self.names.entry(name.clone()).or_default();
        let reply = state.on(op, &env, &mut messages);
        if !matches!(op, Op::Inspect { .. } | Op::Probe { .. }) {
            let (name, op, heard) = (name.clone(), op.clone(), heard.into_inner());
            self.log.push_back(Done {
                at,
                now,
                grants_from,
                member,
                name,
                op,
                heard,
            });
        }
        self.replicate(at.before(LONGEST_LAG));
        (reply, messages)
    }

    /// Gives the replica everything until `time`.
    fn replicate(&mut self, time: Instant) {
        let limits = self.limits();
        while self.log.front().is_some_and(|done| done.at <= time)
            && let Some(done) = self.log.pop_front()
        {
            let state = self.replica.entry(done.name).or_default();
            let heard = RefCell::new(done.heard);
            let env = Env {
                now: done.now,
                grants_from: done.grants_from,
                member: done.member,
                limits,
                hears: &|_| heard.borrow_mut().pop_front().unwrap_or(false),
            };
            state.on(&done.op, &env, &mut Vec::new());
        }
    }

    /// The records of all names.
    pub(super) fn records(&self) -> Vec<(Name, NameRecord)> {
        let now = self.micros(clock::now());
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_unstable_by_key(|(name, _)| name.as_str());
        let record =
            |(name, state): (&Name, &State)| (name.clone(), state.inspect(now, 0, self.limits()));
        names.into_iter().map(record).collect()
    }

    pub(super) fn crash(&mut self) {
        self.is_down = true;
        self.epoch += 1;
    }

    /// Starts without data, and grants nothing for the time of `pause`.
    pub(super) fn restart_empty(&mut self, pause: Option<Duration>) {
        self.names.clear();
        self.begin(Cause::Restart, pause);
    }

    /// A replica takes over that is `lag` behind. `pause` as above.
    pub(super) fn fail_over(&mut self, lag: Duration, pause: Option<Duration>) {
        self.replicate(clock::now().before(lag));
        self.names = self.replica.clone();
        self.begin(Cause::Failover, pause);
    }

    fn begin(&mut self, cause: Cause, pause: Option<Duration>) {
        self.log.clear();
        self.replica = self.names.clone();
        (self.is_down, self.epoch) = (false, self.epoch + 1);
        let Some(pause) = pause else {
            return;
        };
        let now = clock::now();
        self.grants_from = self.micros(now).saturating_add(pause.as_micros() as u64);
        let until = now.surely_after(pause);
        self.closed = Some(Closed { until, cause });
    }
}
