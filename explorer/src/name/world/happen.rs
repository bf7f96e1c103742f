//! What each action does.

use core::time::Duration;

use auto_mutex_protocol::client::{AskId, Call, Input, Patience, Phase};
use auto_mutex_protocol::{
    Answer, Env, LockKind, LossCause, MemberId, Message, NameRecord, NodeChange, Op, Reply,
    SharedStr, Signal, State, Ticket, TicketRecord,
};

use super::action::query_of;
use super::member::{answered, asked, expires, member_of, ticket};
use super::{Action, Member, NAME, World, link, text, thin_out};
use crate::name::properties::{KEPT, MISSES, ORDER, TOKENS};
use crate::name::rules::{Clocks, SLIP, Setup, TICK, micros, ticks};

/// It has no calls of its own.
const OUTSIDER: MemberId = MemberId::from_bytes([0xff; 16]);

impl World {
    /// Does it.
    pub fn happen(&mut self, action: Action, rules: &Setup) {
        match action {
            Action::Enter(me) => {
                let member = &mut self.members[usize::from(me)];
                let call = member.call(rules);
                // A call joins the hold of its owner.
                if !rules.owned || member.holders().next().is_none() {
                    self.input(me, Input::Enter(call), rules);
                }
            }
            Action::Release(me, index) => {
                let member = &mut self.members[usize::from(me)];
                let (hold, returns) = (member.end(index.into()), false);
                let ask = member.ask(rules).map(|ask| (ask, TICK));
                self.input(me, Input::Release { hold, returns, ask }, rules);
            }
            Action::Return(me, index) => {
                let hold = self.members[usize::from(me)].end(index.into());
                self.past.notified.1 -= 1;
                let (returns, ask) = (true, None);
                self.input(me, Input::Release { hold, returns, ask }, rules);
            }
            Action::Renew(me, index) => {
                self.left.renewals -= 1;
                let member = &mut self.members[usize::from(me)];
                let (now, hold) = (member.now, member.guards[usize::from(index)].call);
                let Some(tenure) = member.hold(hold).map(|it| it.caller.want.tenure) else {
                    return;
                };
                let guard = &mut member.guards[usize::from(index)];
                guard.expires = expires(now, tenure.expire);
                // Of several units, it gives all back but one.
                let units = (guard.units > 1).then_some(1);
                guard.units = units.unwrap_or(guard.units);
                let seen = Input::Seen {
                    hold,
                    lost: None,
                    expires: guard.expires,
                    parked_until: now.after(tenure.at_least.unwrap_or_default()),
                };
                self.input(me, seen, rules);
                let ask = self.members[usize::from(me)].ask(rules);
                self.input(me, Input::Renew { hold, ask, units }, rules);
            }
            Action::Drain(me) => {
                self.left.drains -= 1;
                self.stop(me, Phase::Draining, Input::ReleaseKept, rules);
            }
            Action::Close(me) => {
                self.left.closes -= 1;
                self.stop(me, Phase::Closing, Input::Close(LossCause::ShutDown), rules);
            }
            Action::Export(me, index) => {
                self.left.exports -= 1;
                let guard = &self.members[usize::from(me)].guards[usize::from(index)];
                let hold = guard.call;
                self.exported = Some(guard.ticket);
                self.input(me, Input::Export { hold }, rules);
            }
            Action::Adopt(me) => {
                let Some(old) = self.exported else {
                    return;
                };
                let caller = self.members[usize::from(me)].call(rules);
                self.input(me, Input::Adopt { caller, old }, rules);
            }
            Action::Leave(me, index) => {
                let member = &mut self.members[usize::from(me)];
                let calls = member.state.waiters().chain(member.state.attempts());
                let calls: Vec<_> = calls.map(|call| call.id).collect();
                let call = calls[usize::from(index)];
                let ask = member.ask(rules);
                self.input(me, Input::Leave { call, ask }, rules);
            }
            Action::Due(me) => {
                let armed = self.members[usize::from(me)].now;
                self.input(me, Input::Due { armed }, rules);
            }
            Action::Resume(me) => {
                self.left.suspensions -= 1;
                let armed = self.members[usize::from(me)].now.before(2 * TICK);
                self.input(me, Input::Due { armed }, rules);
            }
            Action::ReleaseKept(me) => self.input(me, Input::ReleaseKept, rules),
            Action::Execute(me) => {
                let sent = self.members[usize::from(me)].link.requests.pop_front();
                let (request, _) = sent.expect("a request");
                let ask = AskId(request.id.0);
                self.execute(me, Some(ask), request.op, rules);
            }
            Action::Late(me, index) => {
                let ((_, op), _) = self.members[usize::from(me)].link.late.remove(index.into());
                self.execute(me, None, op, rules);
            }
            Action::Reply(me) => self.reply(me, rules),
            Action::Message(me, index) => {
                let messages = &mut self.members[usize::from(me)].link.messages;
                let (message, _) = messages.remove(index.into());
                self.hear(me, &message.seal(NAME), rules);
            }
            Action::Copy(me, index) => {
                self.left.copies -= 1;
                let messages = &self.members[usize::from(me)].link.messages;
                let text = messages[usize::from(index)].0.seal(NAME);
                self.hear(me, &text, rules);
            }
            Action::Overhear(me, index) => {
                self.left.overhears -= 1;
                let messages = &self.members[usize::from(me)].link.messages;
                self.overheard = Some(messages[usize::from(index)].0.clone());
            }
            Action::Forge(way) => self.forge(way, rules),
            Action::Lose(me, index) => {
                self.left.losses -= 1;
                let messages = &mut self.members[usize::from(me)].link.messages;
                messages.remove(index.into());
            }
            Action::Break(me) => {
                self.left.breaks -= 1;
                self.disconnect(me, rules.late, rules);
            }
            Action::Connect(me) => {
                let closed = Some(self.store.closed_for()).filter(|time| !time.is_zero());
                let member = &mut self.members[usize::from(me)];
                member.takes_for_closed(closed, &mut self.past, rules);
                (member.link.connected, member.is_new) = (true, false);
                let connected = NodeChange::Connected { again: true };
                member.changed(connected, &mut self.past, rules);
            }
            Action::Crash(me) => {
                self.left.crashes -= 1;
                self.members[usize::from(me)].die();
            }
            Action::Notice(me) => {
                (self.members[usize::from(me)].link).break_off(|_| Some(rules.late));
            }
            Action::Tick(slow) => self.tick(slow, rules),
            Action::StepBack => {
                self.left.steps_back -= 1;
                self.store.behind = true;
                self.store.now -= micros(100 * TICK);
            }
            Action::Doubt(me) => {
                self.left.doubts -= 1;
                let time = self.store.closed_for() + ticks(rules.doubt);
                let member = &mut self.members[usize::from(me)];
                member.takes_for_closed(Some(time), &mut self.past, rules);
            }
            Action::Signal(all) => {
                self.left.signals -= 1;
                let ticket = ticket(0, u32::MAX.into());
                let signal = match (rules.want(0, 0).share.kind, all) {
                    (LockKind::Semaphore, _) => Signal::Token("t".into()),
                    (_, true) => Signal::All,
                    (_, false) => Signal::One,
                };
                let op = Op::Signal { ticket, signal };
                let reply = self.run(OUTSIDER, Duration::ZERO, &op, rules);
                self.past.notified.0 += reply.count() as u8;
            }
            Action::Refuse(me, error) => {
                self.left.errors -= 1;
                self.refuse(me, error, rules);
            }
            Action::Report(me, what) => {
                self.left.reports -= 1;
                self.report(me, what, rules);
            }
            Action::Sweep => self.sweep(rules),
            Action::Miss(me, index) => {
                self.left.misses -= 1;
                self.miss(me, index, rules);
            }
            Action::Ask(me, query) => {
                self.left.queries -= 1;
                let (ask, op) = (AskId(2), query_of(query));
                self.input(me, Input::Ask { ask, op }, rules);
            }
            Action::Force => {
                self.left.forces -= 1;
                self.take_away(&Op::Force, |_| true, rules);
            }
            Action::Look => {
                let record = self.store.record(&rules.limits);
                self.seen = record.holders.first().map_or(0, |holder| holder.token);
            }
            Action::Kick => {
                self.left.kicks -= 1;
                let token = core::mem::take(&mut self.seen);
                let by = SharedStr::EMPTY;
                self.take_away(&Op::Kick { token, by }, |of| of == token, rules);
            }
            Action::Restart => {
                self.left.restarts -= 1;
                self.replace_store(State::default(), rules);
            }
            Action::Replicate => self.replica = Some(Box::new(self.store.state.clone())),
            Action::Failover => {
                self.left.failovers -= 1;
                let state = self.replica.take().map(|state| *state);
                self.replace_store(state.unwrap_or_default(), rules);
            }
        }
    }

    /// A call that waits like this asks for the lock.
    pub(crate) fn enter(&mut self, me: u8, patience: Patience, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        member.to_come += 1;
        let mut call = member.call(rules);
        call.want.patience = patience;
        self.input(me, Input::Enter(call), rules);
    }

    /// The call of a client gives back what it has, or no longer asks for it.
    pub(crate) fn give_back(&mut self, me: u8, rules: &Setup) {
        let member = &self.members[usize::from(me)];
        if !member.guards.is_empty() {
            return self.happen(Action::Release(me, 0), rules);
        }
        let waiting = member.state.waiters().chain(member.state.attempts()).next();
        if let Some(call) = waiting.map(|waiter| waiter.id) {
            self.input(me, Input::Leave { call, ask: None }, rules);
        }
    }

    /// A client takes no more calls, and those that wait fail.
    fn stop(&mut self, me: u8, phase: Phase, input: Input<Call>, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        member.phase = phase;
        member.dismiss(&mut self.past, rules);
        self.input(me, input, rules);
        if phase.is_over() {
            self.members[usize::from(me)].knows_no_server(&mut self.past);
        }
    }

    /// The call of a grant that has ended asks again.
    fn miss(&mut self, me: u8, index: u8, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        let (attempts, id) = {
            let guard = &member.guards[usize::from(index)];
            (guard.attempts, guard.call)
        };
        let Some(missed) = member.hold(id).map(|hold| hold.caller.clone()) else {
            return;
        };
        let hold = member.end(index.into());
        let (returns, ask) = (true, None);
        self.input(me, Input::Release { hold, returns, ask }, rules);
        let member = &mut self.members[usize::from(me)];
        if let Some(want) = missed.again(attempts, member.now) {
            let call = member.call_for(want);
            self.past.note(
                MISSES,
                call.deadline() > missed.deadline().max(call.started),
            );
            self.past.missed += 1;
            self.input(me, Input::Enter(call), rules);
        }
    }

    pub(crate) fn input(&mut self, me: u8, input: Input<Call>, rules: &Setup) {
        self.members[usize::from(me)].on(input, &mut self.past, rules);
    }

    fn tick(&mut self, slow: u8, rules: &Setup) {
        self.store.tick();
        for member in &mut self.members {
            link::tick(&mut member.link);
            if slow >> member.me & 1 == 1 {
                member.slips -= 1;
                member.tick(SLIP);
            } else if rules.clocks != Clocks::Stopped {
                member.tick(Duration::ZERO);
            }
        }
    }

    /// Everything in flight is lost.
    fn replace_store(&mut self, state: State, rules: &Setup) {
        self.store.state = state;
        self.store.closed_until = self.store.now + micros(ticks(rules.closed));
        for me in 0..rules.clients {
            self.disconnect(me, 0, rules);
            self.members[usize::from(me)].link.late.clear();
        }
    }

    fn disconnect(&mut self, me: u8, late: u8, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        let was_connected = member.link.connected;
        let unanswered = member.link.break_off(|_| Some(late));
        if was_connected && !member.dead {
            member.disconnected(unanswered, &mut self.past, rules);
        }
    }

    /// `ask` is `None` for a late copy, which gets no reply.
    pub(crate) fn execute(&mut self, me: u8, ask: Option<AskId>, op: Op, rules: &Setup) {
        let member = &self.members[usize::from(me)];
        // A late request may have been sent before its client considered the store closed.
        let doubts = match ask {
            Some(_) => member.closed().and_then(|closed| closed.left(member.now)),
            None => None,
        };
        let doubts = doubts.unwrap_or_default();
        if op == Op::Force {
            self.remove_holders(|_| true, rules);
        }
        let reply = self.run(Member::id(me), doubts, &op, rules);
        let text = text::of(&reply);
        let reply = text.map_or(Some(reply), |text| Reply::parse(&text));
        let reply = reply.expect("each reply has a text");
        let member = &mut self.members[usize::from(me)];
        if let Some(ask) = ask.filter(|_| !member.dead) {
            let request = asked(ask, op);
            let result = Ok(reply);
            (member.link.answers).push_back((Answer { request, result }, 0));
            if rules.prompt {
                self.reply(me, rules);
            }
        }
    }

    /// Runs an operation of a client that considers the store closed for so long.
    fn run(&mut self, member: MemberId, doubts: Duration, op: &Op, rules: &Setup) -> Reply {
        let heard: Vec<_> = (self.members.iter())
            .filter(|member| member.link.connected)
            .map(|member| Member::id(member.me))
            .collect();
        let env = Env {
            now: self.store.now,
            grants_from: (self.store.closed_until).max(self.store.now + micros(doubts)),
            member,
            limits: &rules.limits,
            hears: &|member: MemberId| heard.contains(&member),
        };
        // With those whose time is over, but which the store still has.
        let before = self.store.state.inspect(0, 0, &rules.limits);
        let mut messages = Vec::new();
        let reply = self.store.state.on(op, &env, &mut messages);
        let after = self.store.record(&rules.limits);
        self.note_grants(op, &before, &after);
        for (to, message) in messages {
            let member = &mut self.members[usize::from(Member::number(to))];
            if !member.dead {
                member.link.tell(message, 0);
                thin_out(&mut member.link.messages, rules.messages);
            }
        }
        reply
    }

    /// An operator removes the holders that have one of these tokens.
    fn take_away(&mut self, op: &Op, is_meant: impl Fn(u64) -> bool, rules: &Setup) {
        self.remove_holders(is_meant, rules);
        self.run(OUTSIDER, Duration::ZERO, op, rules);
    }

    fn remove_holders(&mut self, is_meant: impl Fn(u64) -> bool, rules: &Setup) {
        let record = self.store.record(&rules.limits);
        for holder in record.holders {
            if is_meant(holder.token) {
                let member = &mut self.members[usize::from(Member::number(holder.member))];
                member.remove(holder.ticket, holder.parked);
            }
        }
    }

    fn note_grants(&mut self, op: &Op, before: &NameRecord, after: &NameRecord) {
        let known = |token| before.holders.iter().any(|holder| holder.token == token);
        let new = after.holders.iter().filter(|holder| !known(holder.token));
        let last = self.past.token;
        for holder in new {
            self.past.note(TOKENS, holder.token <= last);
            self.past.token = self.past.token.max(holder.token);
            let held = |it: &&TicketRecord| it.ticket == holder.ticket;
            if before.holders.iter().any(|it| held(&it)) || matches!(op, Op::Adopt { .. }) {
                continue;
            }
            // Who was before the new holder in the queue, and still waits there?
            let earlier = before.waiters.iter().take_while(|waiter| !held(waiter));
            let overtaken = earlier.filter(|waiter| !waiter.passed_over).any(|earlier| {
                let mut still = after.waiters.iter();
                still.any(|waiter| waiter.ticket == earlier.ticket && !waiter.passed_over)
            });
            self.past.note(ORDER, overtaken);
        }
    }

    fn reply(&mut self, me: u8, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        let (answer, _) = member.link.answers.pop_front().expect("an answer");
        self.tell(me, answered(answer), rules);
    }

    /// A text arrives on the channel of a client.
    pub(super) fn hear(&mut self, me: u8, text: &str, rules: &Setup) {
        let state = &self.members[usize::from(me)].state;
        let about = Message::parse(text).and_then(|(_, message)| message.ticket());
        let ticket = about.and_then(|about| state.ticket(about.public()));
        if let Some(message) = ticket.and_then(|ticket| Message::open(text, ticket)) {
            self.tell(me, Input::Told(message), rules);
        }
    }

    /// The store tells a client something.
    fn tell(&mut self, me: u8, input: Input<Call>, rules: &Setup) {
        let member = &self.members[usize::from(me)];
        let held: Vec<_> = member.holders().map(|guard| guard.call).collect();
        let backed = self.is_backed(me, &self.store.record(&rules.limits));
        self.input(me, input, rules);
        let member = &self.members[usize::from(me)];
        let lost = |call| member.holders().all(|guard| guard.call != call);
        self.past.note(
            KEPT,
            backed && !self.store.is_closed() && held.into_iter().any(lost),
        );
    }

    /// Whether the store, which says this about the name, has all holds of a client.
    pub(crate) fn is_backed(&self, me: u8, record: &NameRecord) -> bool {
        let mut guards = self.members[usize::from(me)].holders();
        guards.all(|guard| {
            let mut held = record.holders.iter();
            held.any(|holder| holder.ticket == guard.ticket && !holder.parked)
        })
    }

    pub(super) fn member_of(&self, ticket: Ticket) -> &Member {
        &self.members[usize::from(member_of(ticket))]
    }

    /// Whether the store has a ticket that its client does not know any more.
    pub(crate) fn has_unknown(&self, rules: &Setup) -> bool {
        let record = self.store.record(&rules.limits);
        let holders = record.holders.iter().filter(|holder| !holder.parked);
        let mut tickets = holders.chain(&record.waiters);
        tickets.any(|record| {
            if self.exported == Some(record.ticket) {
                return false;
            }
            let member = self.member_of(record.ticket);
            !member.dead && member.state.ticket(record.ticket.public()).is_none()
        })
    }
}
