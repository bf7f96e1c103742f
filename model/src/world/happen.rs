//! The effect of each step on the world.

use super::{Action, World};
use crate::network::{Answer, Message, Reply, Request, Ticket, Token};
use crate::rules::{Rules, Safeguard};
use crate::store::{Channel, Store};

/// A request that the store executed, and its results.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The member whose connection carried the request.
    pub member: u8,
    /// The request.
    pub request: Request,
    /// For how many more ticks such a request grants nothing, because the store is closed or its member considers it
    /// closed.
    pub closed: u8,
    /// The reply.
    pub reply: Reply,
    /// Grants and recalls sent as messages.
    pub told: Vec<Message>,
    /// Tickets notified that they are among the first.
    pub notified: Vec<Ticket>,
}

impl World {
    /// Carries out `action`; returns what the store executed.
    pub fn happen(&mut self, action: &Action, rules: &Rules) -> Option<Executed> {
        match *action {
            Action::Enter(me) => {
                let (member, connection) = (
                    &mut self.members[usize::from(me)],
                    &mut self.connections[usize::from(me)],
                );
                member.calls -= 1;
                member.enter(me, connection, rules);
            }
            Action::Keep(me) => {
                let connection = &mut self.connections[usize::from(me)];
                self.members[usize::from(me)].keep(connection, rules);
            }
            Action::Again(me) => {
                let member = &mut self.members[usize::from(me)];
                member.calls -= 1;
                self.past.last.order += 1;
                member.enter_again(self.past.last.order, rules);
                self.note_entry(me);
            }
            Action::Ask(me) => {
                self.members[usize::from(me)].ask(&mut self.connections[usize::from(me)]);
            }
            Action::Release(me) | Action::Cancel(me) | Action::Lose(me) => {
                self.members[usize::from(me)].leave(&mut self.connections[usize::from(me)]);
            }
            Action::Write(me) => self.write(me, rules),
            Action::Execute(me) => {
                let request = self.connections[usize::from(me)].requests.remove(0);
                return Some(self.execute(me, request, true, rules));
            }
            Action::Late(me, request) => {
                let late = &mut self.connections[usize::from(me)].late;
                late.retain(|late| late.0 != request);
                return Some(self.execute(me, request, false, rules));
            }
            Action::Reply(me) => self.reply(me, rules),
            Action::Message(me, message) => {
                self.take_message(me, message);
                self.tell(me, message, rules);
            }
            Action::Copy(me, message) => {
                self.faults.copies -= 1;
                self.tell(me, message, rules);
            }
            Action::Lost(me, message) => {
                self.faults.losses -= 1;
                self.take_message(me, message);
            }
            Action::Break(me) => {
                self.faults.breaks -= 1;
                let connection = &mut self.connections[usize::from(me)];
                self.members[usize::from(me)].disconnected(connection);
                connection.break_off(rules.late);
            }
            Action::Connect(me) => {
                self.members[usize::from(me)].connected(&mut self.connections[usize::from(me)]);
            }
            Action::Crash(me) => {
                self.faults.crashes -= 1;
                let connection = &mut self.connections[usize::from(me)];
                connection.replies.clear();
                connection.messages.clear();
                self.members[usize::from(me)].die();
            }
            Action::Notice(me) => self.connections[usize::from(me)].break_off(rules.late),
            Action::Tick(slow) => self.tick(slow, rules),
            Action::StoreTick => self.store_tick(rules),
            Action::MemberTick(me) => self.member_tick(usize::from(me), rules),
            Action::StepBack => {
                self.faults.steps_back -= 1;
                self.behind = true;
                self.store.step_back(rules);
            }
            Action::Doubt(me) => {
                self.faults.doubts -= 1;
                self.members[usize::from(me)].closed = self.store.closed + rules.doubt;
            }
            Action::Restart => {
                self.faults.restarts -= 1;
                self.replace_store(Store::default(), rules);
            }
            Action::Replicate => self.replica = Some(Box::new(self.store.clone())),
            Action::Failover => {
                self.faults.failovers -= 1;
                let replica = self.replica.take().map(|replica| *replica);
                self.replace_store(replica.unwrap_or_default(), rules);
                if self.faults.failovers > 0 {
                    self.replica = Some(Box::default());
                }
            }
        }
        None
    }

    fn execute(&mut self, me: u8, request: Request, answers: bool, rules: &Rules) -> Executed {
        let listening: Vec<_> = self
            .connections
            .iter()
            .map(|connection| connection.connected)
            .collect();
        // A late request may have been sent before its member considered the store closed. The model assumes so, as the
        // worst case.
        let doubts = if answers {
            self.members[usize::from(me)].closed
        } else {
            0
        };
        let closed = self.store.closed.max(doubts);
        let mut channel = Channel {
            rules,
            now: self.server_time(),
            listening: &listening,
            member: me,
            closed: closed > 0,
            told: Vec::new(),
            notified: Vec::new(),
            given: Vec::new(),
            order: self.past.last.order + 1,
            overtook: false,
        };
        let reply = self.store.execute(request, &mut channel);
        let Channel {
            told,
            notified,
            given,
            overtook,
            ..
        } = channel;
        self.past.overtaken |= overtook;
        for token in given {
            self.note_grant(token, rules);
        }
        for &message in &told {
            let to = usize::from(message.ticket().member);
            if !self.members[to].dead {
                self.connections[to].messages.push(message);
            }
        }
        if answers && !self.members[usize::from(me)].dead {
            let answer = Answer { request, reply };
            self.connections[usize::from(me)].replies.push(answer);
            if rules.prompt {
                self.reply(me, rules);
            }
        }
        Executed {
            member: me,
            request,
            closed,
            reply,
            told,
            notified,
        }
    }

    fn reply(&mut self, me: u8, rules: &Rules) {
        let kept = self.is_kept(me);
        let (member, connection) = (
            &mut self.members[usize::from(me)],
            &mut self.connections[usize::from(me)],
        );
        let answer = connection.replies.remove(0);
        let waited = member.waits();
        member.answered(me, answer, connection, rules);
        if rules.retain > 0 && waited && member.holds() {
            self.note_entry(me);
        }
        let member = &self.members[usize::from(me)];
        self.past.lost_for_nothing |= kept && !member.believes();
    }

    /// Whether the member has a hold by its own clock, and the store has it too and is not closed.
    fn is_kept(&self, me: u8) -> bool {
        let held = self.members[usize::from(me)].held();
        self.store.closed == 0 && held.is_some_and(|(ticket, token)| self.store.has(ticket, token))
    }

    fn note_grant(&mut self, token: Token, rules: &Rules) {
        self.past.token_fell |= token.fence <= self.past.last.fence;
        self.past.last.fence = self.past.last.fence.max(token.fence);
        self.past.last.order = token.order;
        if rules.clock_may_stall() {
            self.later = false;
        }
    }

    /// A call has entered.
    fn note_entry(&mut self, me: u8) {
        let Some(pen) = self.members[usize::from(me)].pen else {
            return;
        };
        self.past.call_token_fell |= pen.seen() <= self.past.entered.seen();
        self.past.entered = Token { order: 0, ..pen };
    }

    fn take_message(&mut self, me: u8, message: Message) {
        let messages = &mut self.connections[usize::from(me)].messages;
        if let Some(index) = messages.iter().position(|other| *other == message) {
            messages.remove(index);
        }
    }

    fn tell(&mut self, me: u8, message: Message, rules: &Rules) {
        let (member, connection) = (
            &mut self.members[usize::from(me)],
            &mut self.connections[usize::from(me)],
        );
        let waited = member.waits();
        member.told(message, connection, rules);
        if rules.retain > 0 && waited && member.holds() {
            self.note_entry(me);
        }
    }

    fn write(&mut self, me: u8, rules: &Rules) {
        let Some(pen) = self.members[usize::from(me)].pen else {
            return;
        };
        if pen.seen() < self.register.seen() && rules.keeps(Safeguard::Fence) {
            return;
        }
        self.past.stale_write |= pen.order < self.register.order;
        self.register = pen;
    }

    /// Replaces the store with another server, or with the same server after a restart. Everything in flight is lost.
    fn replace_store(&mut self, store: Store, rules: &Rules) {
        self.store = store;
        if rules.keeps(Safeguard::RestartGuard) {
            self.store.closed = rules.closed;
        }
        // After a burst of grants, tokens can run ahead of the clock. `RestartGuard` keeps the store closed for longer
        // than that, so the clock has passed the last token before the next grant. Runs without `RestartGuard` assume
        // the same.
        self.later = true;
        for (member, connection) in self.members.iter_mut().zip(&mut self.connections) {
            if !member.dead {
                member.disconnected(connection);
            }
            connection.cut();
        }
    }
}

impl World {
    /// Executes a request that no member has sent.
    pub fn look(&mut self, request: Request, rules: &Rules) -> Executed {
        self.execute(request.ticket.member, request, false, rules)
    }
}
