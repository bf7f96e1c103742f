//! [`Member`]: a client, and what is around its state in a process: a clock, a connection, and callers.

use core::time::Duration;
use std::collections::VecDeque;

use auto_mutex_protocol::client::{
    self, AskId, Call, CallId, Effect, Ended, Env, Failure, Hold, Input, Patience, Phase, Servers,
    Via, View, Want,
};
use auto_mutex_protocol::{
    Answer, Closed, Instant, LossCause, MemberId, Node, NodeChange, Op, Request, RequestId,
    StoreError, TOKENS_OF_A_GRANT, Ticket, Visitor, fencing, not_yet,
};

use super::{Link, Past, link};
use crate::name::properties::{ANSWERS, CALLS, ENTRY, EXPIRE, SAID, TRIES};
use crate::name::rules::{Setup, TICK};

/// The present of a client.
pub(super) const PRESENT: Instant = Instant::from_nanos(1_000 * TICK.as_nanos() as u64);

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its number.
    pub me: u8,
    /// The calls for the name.
    pub state: client::State<Call>,
    /// Its time.
    pub now: Instant,
    /// The calls that are inside.
    pub guards: Vec<Guard>,
    /// The units of calls that have ended, and until when they are kept (`at_least`).
    pub parked: Vec<(u32, Instant)>,
    /// The tickets that an operator has taken the lock from, and whether a call was inside.
    pub removed: Vec<(Ticket, bool)>,
    /// How many calls are still to come.
    pub to_come: u8,
    /// Its connection.
    pub link: Link,
    /// What it knows of the store's server.
    pub servers: Servers,
    /// How many of its servers are connected, as far as it was told.
    pub(super) up: i64,
    /// It has not been connected yet.
    pub is_new: bool,
    /// Which error the store answers with in this step.
    pub(super) refused: Option<u8>,
    /// How often its clock may still lose time.
    pub slips: u8,
    /// Whether it takes calls.
    pub phase: Phase,
    /// It has died.
    pub dead: bool,
    /// It has died while it kept the lock, and no call was inside.
    pub died_keeping: bool,
    /// What its callers have learned in this step: that a call failed, or the answer to a question.
    pub heard: Vec<Result<(), Failure>>,
    /// How many callers wait for the answer to a renewal or a release.
    pub asked: u8,
    /// The store has queued its call for a signal.
    pub registered: bool,
    pub(super) next_call: u64,
    pub(super) next_ticket: u64,
}

/// A call that is inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The call.
    pub call: CallId,
    /// The ticket that holds for it.
    pub ticket: Ticket,
    /// Its fencing token.
    pub token: u64,
    /// Until when it holds, by the client's clock.
    pub valid: Instant,
    /// Until when it may hold.
    pub expires: Instant,
    /// The end of its `expire` is also that of all leases that its ticket asks for.
    pub is_first: bool,
    /// Until when the store keeps the lock even if the call ends.
    pub at_least: Instant,
    /// How many units it has.
    pub units: u32,
    /// How many attempts it took.
    pub(super) attempts: u32,
}

impl Guard {
    /// Whether it holds.
    pub fn is_valid(&self, now: Instant) -> bool {
        now < self.valid.min(self.expires)
    }
}

/// The ticket of a client with this number.
pub fn ticket(member: u8, number: u64) -> Ticket {
    let mut bytes = [0; 16];
    bytes[0] = member;
    bytes[4..8].copy_from_slice(&(number as u32).to_be_bytes());
    bytes[15] = 1;
    Ticket::from_random(bytes)
}

/// The client of a ticket.
pub(super) fn member_of(ticket: Ticket) -> u8 {
    ticket.as_bytes()[0]
}

impl Member {
    pub(super) fn new(me: u8, rules: &Setup) -> Self {
        let mut servers = Servers::default();
        let connected = match rules.offline {
            true => NodeChange::Disconnected(not_yet()),
            false => NodeChange::Connected { again: false },
        };
        let up = servers.on(Node::ONLY, connected, PRESENT).connected;
        Self {
            me,
            state: client::State::default(),
            servers,
            up,
            is_new: rules.offline,
            refused: None,
            now: PRESENT,
            guards: Vec::new(),
            parked: Vec::new(),
            removed: Vec::new(),
            to_come: rules.calls_of(me).0,
            link: Link::new(!rules.offline),
            slips: rules.slips,
            phase: Phase::Open,
            dead: false,
            died_keeping: false,
            heard: Vec::new(),
            asked: 0,
            registered: false,
            next_call: 0,
            next_ticket: 0,
        }
    }

    /// How the store knows it.
    pub fn id(me: u8) -> MemberId {
        MemberId::from_bytes([me; 16])
    }

    /// The number of the client that the store knows like this.
    pub fn number(id: MemberId) -> u8 {
        id.as_bytes()[0]
    }

    /// The calls that hold, by the client's clock. A call that an operator took the lock from may not know it yet.
    pub fn holders(&self) -> impl Iterator<Item = &Guard> {
        let inside = self.guards.iter().filter(|guard| self.relies_on(guard));
        inside.filter(|guard| !self.is_removed(guard.ticket))
    }

    /// Whether an operator has taken the lock from the ticket.
    fn is_removed(&self, ticket: Ticket) -> bool {
        self.removed.iter().any(|removed| removed.0 == ticket)
    }

    /// An operator takes the lock from the ticket.
    pub(super) fn remove(&mut self, ticket: Ticket, parked: bool) {
        if parked {
            self.parked.clear();
        }
        let is_inside = self.guards.iter().any(|guard| guard.ticket == ticket);
        self.removed.push((ticket, is_inside));
    }

    /// Whether it considers the lock held.
    pub fn relies_on(&self, guard: &Guard) -> bool {
        !self.dead && guard.is_valid(self.now)
    }

    /// The units that nobody else may have, by the client's clock.
    pub fn units(&self) -> u32 {
        let parked = self.parked.iter().filter(|parked| self.now < parked.1);
        let parked: u32 = parked.map(|parked| parked.0).sum();
        parked + self.holders().map(|guard| guard.units).sum::<u32>()
    }

    /// A call ends.
    pub(super) fn end(&mut self, index: usize) -> CallId {
        let guard = self.guards.remove(index);
        if self.relies_on(&guard) && self.now < guard.at_least {
            self.parked.push((guard.units, guard.at_least));
        }
        guard.call
    }

    /// The hold of a call, if it has not ended.
    pub fn hold(&self, call: CallId) -> Option<&Hold<Call>> {
        self.state.holds().find(|hold| hold.caller.id == call)
    }

    /// Whether it keeps the lock, and no call is inside.
    pub fn keeps(&self) -> bool {
        self.state.counts_as_kept() && self.state.holds().next().is_none()
    }

    pub(super) fn call(&mut self, rules: &Setup) -> Call {
        self.to_come -= 1;
        self.call_for(rules.want(self.me, self.to_come))
    }

    pub(super) fn call_for(&mut self, want: Want) -> Call {
        self.next_call += 1;
        self.registered = false;
        Call {
            id: CallId(self.next_call),
            want,
            started: self.now,
        }
    }

    /// Whether a call was granted the lock for a time that is over, before it has looked.
    pub(super) fn has_missed(&self, index: u8) -> bool {
        let guard = &self.guards[usize::from(index)];
        !guard.is_valid(self.now) && self.hold(guard.call).is_some()
    }

    /// Until when it considers the store closed.
    pub fn closed(&self) -> Option<Closed> {
        self.servers.longest_closed(self.now)
    }

    fn env<'a>(
        &self,
        closed: Option<Closed>,
        rules: &'a Setup,
        ticket: &'a mut dyn FnMut() -> Ticket,
    ) -> Env<'a> {
        let view = View::of(self.phase, false, 0);
        Env {
            now: self.now,
            limits: &rules.limits,
            client: &rules.times,
            view: View {
                may_keep: view.may_keep && self.me < rules.keepers,
                ..view
            },
            outage: self.servers.outage(Node::ONLY).cloned(),
            closed,
            ticket,
        }
    }

    /// Whether its timer runs now.
    pub fn is_due(&self, rules: &Setup) -> bool {
        let mut none = || ticket(self.me, 0);
        let env = self.env(self.closed(), rules, &mut none);
        self.state.next_due(&env) <= self.now
    }

    /// Feeds its state.
    pub(super) fn on(&mut self, input: Input<Call>, past: &mut Past, rules: &Setup) {
        let (mut inputs, mut effects) = (VecDeque::from([input]), Vec::new());
        while let Some(input) = inputs.pop_front() {
            let (me, mut next) = (self.me, self.next_ticket);
            let mut draw = || {
                next += 1;
                ticket(me, next)
            };
            let closed = self.servers.closed(Node::ONLY, self.now, &rules.limits);
            let mut env = self.env(closed, rules, &mut draw);
            self.state.on(input, &mut env, &mut effects);
            self.next_ticket = next;
            for effect in effects.drain(..) {
                self.follow(effect, past, &mut inputs, rules);
            }
        }
    }

    /// Without a connection, a request fails at once.
    fn follow(
        &mut self,
        effect: Effect<Call>,
        past: &mut Past,
        inputs: &mut VecDeque<Input<Call>>,
        rules: &Setup,
    ) {
        match effect {
            Effect::Send { ask, op } => {
                past.note(EXPIRE, self.asks_beyond(&op));
                let failed = self.link.send(asked(ask, op), 0);
                inputs.extend(failed.map(|request| match self.is_new {
                    true => answered(request.unsent()),
                    false => unanswered(request),
                }));
            }
            Effect::Granted { caller, grant, .. } => {
                // What an operator has taken away can be granted late.
                if !self.is_removed(grant.ticket) {
                    past.note(CALLS, grant.token <= past.entered);
                    past.entered = past.entered.max(grant.token);
                }
                past.notified.1 += u8::from(grant.signal.is_some());
                past.note(ENTRY, grant.valid <= self.now);
                self.guards.push(Guard {
                    call: caller.id,
                    ticket: grant.ticket,
                    token: grant.token,
                    valid: grant.valid,
                    expires: expires(self.now, caller.want.tenure.expire),
                    is_first: grant.via == Via::Store,
                    at_least: self
                        .now
                        .after(caller.want.tenure.at_least.unwrap_or_default()),
                    units: match grant.signal {
                        Some(_) => 0,
                        None => caller.want.share.units,
                    },
                    attempts: grant.attempts,
                });
            }
            Effect::Valid { hold, valid } => {
                for guard in self.guards.iter_mut().filter(|it| it.call == hold) {
                    guard.valid = valid;
                }
            }
            Effect::Ended { hold, how, asked } => {
                debug_assert!(asked || how != Ended::Released);
                let Some(index) = self.guards.iter().position(|it| it.call == hold) else {
                    return;
                };
                let expires = self.guards[index].expires;
                past.note(
                    EXPIRE,
                    match how {
                        Ended::Lost(LossCause::Expired) => expires == Instant::NEVER,
                        _ => expires <= self.now,
                    },
                );
                match how {
                    Ended::Lost(LossCause::ShutDown) => drop(self.end(index)),
                    _ => drop(self.guards.remove(index)),
                }
            }
            Effect::Failed { caller, error } => {
                let is_early = caller.want.patience.queues() && self.now < caller.deadline();
                past.note(TRIES, is_early && matches!(error, Failure::Timeout { .. }));
                // What continues a call has only the rest of its retries.
                if let (Failure::TooManyAttempts { attempts, .. }, Patience::Poll { retries, .. }) =
                    (&error, rules.want(self.me, 0).patience)
                {
                    past.note(TRIES, *attempts > retries + 1);
                }
                if let Failure::Busy { waiting } = error {
                    past.note(TRIES, waiting < u64::from(rules.max_waiters.max(1)));
                }
                past.note(SAID, !self.was_said(&error, &caller));
                self.heard.push(Err(error));
            }
            Effect::Confirmed { result, .. } => {
                past.note(ANSWERS, self.asked == 0);
                self.asked = self.asked.saturating_sub(1);
                self.heard.push(result.map(drop));
            }
            Effect::Registered(_) => self.registered = true,
            Effect::Replied { .. }
            | Effect::HandedOn { .. }
            | Effect::RenewalFailed { .. }
            | Effect::ReleaseFailed { .. } => {}
        }
    }

    /// Whether an operation asks for a lease beyond the end of its call.
    fn asks_beyond(&self, op: &Op) -> bool {
        const SHORTEST: Duration = Duration::from_millis(1);
        let Op::Touch { lease, .. } = op else {
            return false;
        };
        let mut guards = self.guards.iter();
        lease.hold > SHORTEST
            && guards.any(|guard| {
                let is_beyond = guard.expires < self.now.after(lease.hold);
                guard.ticket == lease.ticket && guard.is_first && is_beyond
            })
    }

    /// A caller waits for an answer, if callers do.
    pub(super) fn ask(&mut self, rules: &Setup) -> Option<AskId> {
        self.asked += u8::from(rules.asks);
        rules.asks.then_some(AskId(1))
    }

    /// Its waiting calls fail.
    pub(super) fn dismiss(&mut self, past: &mut Past, rules: &Setup) {
        self.to_come = 0;
        let waiting = self.state.waiters().chain(self.state.attempts());
        let mut calls: Vec<_> = waiting.map(|call| call.id).collect();
        calls.sort_unstable();
        self.on(Input::Dismiss { calls }, past, rules);
    }

    pub(super) fn disconnected(
        &mut self,
        requests: Vec<Request<()>>,
        past: &mut Past,
        rules: &Setup,
    ) {
        self.changed(NodeChange::Disconnected(disconnected()), past, rules);
        for request in requests {
            self.on(unanswered(request), past, rules);
        }
    }

    pub(crate) fn die(&mut self) {
        self.died_keeping = self.keeps();
        self.dead = true;
        self.state = client::State::default();
        self.guards.clear();
        self.removed.clear();
        (self.to_come, self.asked) = (0, 0);
        self.link.answers.clear();
        self.link.messages.clear();
    }

    pub(super) fn tick(&mut self, lost: Duration) {
        self.now = self.now.after(TICK - lost);
    }

    pub(super) fn forget(&mut self, rules: &Setup) {
        self.heard.clear();
        self.refused = None;
        self.state.forget(self.now, &rules.times);
        self.servers.forget(self.now);
        let Self {
            state, link, now, ..
        } = self;
        for guard in &mut self.guards {
            guard.valid = guard.valid.max(*now);
            guard.expires = guard.expires.max(*now);
            guard.at_least = guard.at_least.max(*now);
        }
        self.parked.retain(|parked| *now < parked.1);
        // What is about no ticket that it has.
        let is_known = |ticket: Ticket| state.ticket(ticket.public()).is_some();
        link.answers
            .retain(|(answer, _)| answer.request.op.ticket().is_none_or(is_known));
        link.messages
            .retain(|(message, _)| message.ticket().is_none_or(is_known));
        self.removed.retain(|removed| is_known(removed.0));
    }

    /// What tells it from other clients, without its number.
    pub(super) fn looks(&self) -> impl Ord + use<> {
        let link = &self.link;
        let sent = (link.requests.len(), link.answers.len());
        let told = (link.messages.len(), link.late.len(), link.connected);
        let calls = (self.to_come, self.guards.len(), self.state.load().waiting);
        (
            self.dead,
            calls,
            sent,
            told,
            self.slips,
            self.closed().map(|closed| closed.until),
        )
    }

    pub(super) fn visit(&mut self, visitor: &mut impl Visitor) {
        self.state.visit(visitor);
        self.servers.visit(visitor);
        for guard in &mut self.guards {
            visitor.call(&mut guard.call);
            visitor.ticket(&mut guard.ticket);
            fencing(&mut guard.token, visitor);
            visitor.instant(&mut guard.valid);
            visitor.instant(&mut guard.expires);
            visitor.instant(&mut guard.at_least);
        }
        for (_, until) in &mut self.parked {
            visitor.instant(until);
        }
        for (ticket, _) in &mut self.removed {
            visitor.ticket(ticket);
        }
        link::visit(&mut self.link, visitor);
    }
}

/// When a call with this `expire` ends that begins now.
pub(super) fn expires(now: Instant, expire: Option<Duration>) -> Instant {
    expire.map_or(Instant::NEVER, |expire| now.after(expire))
}

/// The token of the store in a fencing token.
pub(super) fn base(token: u64) -> u64 {
    token / TOKENS_OF_A_GRANT
}

fn disconnected() -> StoreError {
    StoreError::disconnected("")
}

pub(super) fn asked(ask: AskId, op: Op) -> Request<()> {
    let (name, id) = ((), RequestId(ask.0));
    Request { name, op, id }
}

pub(super) fn answered(answer: Answer<()>) -> Input<Call> {
    let Answer { request, result } = answer;
    let (ask, op) = (AskId(request.id.0), request.op);
    Input::Answered { ask, op, result }
}

fn unanswered(request: Request<()>) -> Input<Call> {
    answered(request.failed(disconnected()))
}
