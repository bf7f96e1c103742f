//! What each action does.

use auto_mutex_protocol::client::{AskId, Call, Input as CallInput};
use auto_mutex_protocol::leading::{Effect, Failed, Input, Seat as Attempts, ends_lead};
use auto_mutex_protocol::{LossCause, NameRecord};

use super::action::Action;
use super::enabled::PIPELINE;
use super::rules::{Bodies, Setup};
use super::seat::{Office, Seat, Stage};
use super::world::World;
use crate::name::world::{Action as Step, Member};

/// The question of a seat that waits for a longer lease.
const ASK: AskId = AskId(1);

impl World {
    /// Does it.
    pub fn happen(&mut self, action: Action, rules: &Setup) {
        let before = self.record(rules);
        let mut hung = self.hung(&before);
        self.act(action, rules);
        hung |= matches!(action, Action::Look(_)) && self.hung(&before);
        while (0..rules.seats).any(|me| self.go_on(me, rules)) {}
        self.note_holders(&before, hung, rules);
    }

    /// Whether the body of the one who has the lock hangs: it may be given up before it ends.
    fn hung(&self, record: &NameRecord) -> bool {
        record.holders.first().is_some_and(|holder| {
            let (seat, member) = self.seat(Member::number(holder.member));
            seat.office().is_some_and(|it| it.hangs(member.now))
        })
    }

    /// While a process runs, its requests are executed unless they are slow, their answers arrive, and its timers run.
    /// Returns whether it did anything.
    fn go_on(&mut self, me: u8, rules: &Setup) -> bool {
        self.hear(me, rules);
        let due = self.due(me, rules).filter(|_| self.is_up(me));
        if let Some(step) = due {
            self.network.happen(step, &rules.network);
            self.hear(me, rules);
        }
        due.is_some()
    }

    fn due(&self, me: u8, rules: &Setup) -> Option<Step> {
        let member = &self.network.members[usize::from(me)];
        let link = &member.link;
        if !link.requests.is_empty() && !self.is_slow(me, rules) {
            Some(Step::Execute(me))
        } else if !link.answers.is_empty() {
            Some(Step::Reply(me))
        } else if !link.messages.is_empty() {
            Some(Step::Message(me, 0))
        } else {
            let is_due = link.connected && link.unanswered() < PIPELINE;
            (is_due && member.is_due(&rules.network)).then_some(Step::Due(me))
        }
    }

    fn act(&mut self, action: Action, rules: &Setup) {
        match action {
            Action::Network(step) => {
                self.network.happen(step, &rules.network);
                match step {
                    Step::Crash(me) => self.seats[usize::from(me)] = Seat::new(),
                    Step::Tick(_) => self.seats.iter_mut().for_each(|seat| seat.woke = false),
                    _ => {}
                }
            }
            Action::Stand(me) => self.stand(me, rules),
            Action::Begin(me) => self.begin(me, rules),
            Action::Body(me) => {
                let (office, member) = self.office(me);
                match office.check(member) {
                    true => office.runs = true,
                    false => self.end(me, None, rules),
                }
            }
            Action::Progress(me) => {
                let (office, member) = self.office(me);
                office.stalls = rules.seat.stalls_at(member.now);
            }
            Action::Return(me, ok) => self.end(me, Some(ok), rules),
            Action::Resign(me) => self.term(me, Input::Tell(LossCause::Released), rules),
            Action::Look(me) => self.term(me, Input::Look, rules),
            Action::Drain(me) => self.drain(me, rules),
            Action::Suspend(me) => {
                self.left.suspends -= 1;
                self.seats[usize::from(me)].suspended = true;
            }
            Action::Wake(me) => {
                let seat = &mut self.seats[usize::from(me)];
                seat.suspended = false;
                seat.woke = seat.has_body();
            }
        }
    }

    fn office(&mut self, me: u8) -> (&mut Office, &Member) {
        let index = usize::from(me);
        let office = self.seats[index].office_mut().expect("a term");
        (office, &self.network.members[index])
    }

    fn input(&mut self, me: u8, input: CallInput<Call>, rules: &Setup) {
        self.network.input(me, input, &rules.network);
    }

    fn fail(&mut self, me: u8, why: Failed, rules: &Setup) {
        let now = self.network.members[usize::from(me)].now;
        self.seats[usize::from(me)].fails(why, now, rules);
    }

    fn stand(&mut self, me: u8, rules: &Setup) {
        if self.seats[usize::from(me)].draining {
            return self.fail(me, Failed::ForGood, rules);
        }
        self.seats[usize::from(me)].stage = Stage::Waiting;
        self.network.members[usize::from(me)].to_come = 1;
        self.network.happen(Step::Enter(me), &rules.network);
    }

    fn begin(&mut self, me: u8, rules: &Setup) {
        let index = usize::from(me);
        let (seat, member) = (&mut self.seats[index], &self.network.members[index]);
        let Some(guard) = member.guards.first() else {
            return self.fail(me, Failed::Lost, rules);
        };
        if rules.seat.may_begin(guard.valid, member.now) {
            seat.attempts = Attempts::default();
            seat.stage = Stage::Leading(Office::new(member, rules));
            self.see(me);
            if self.seats[index].draining {
                self.term(me, Input::Tell(LossCause::ShutDown), rules);
            }
            return;
        }
        seat.stage = Stage::Granted(true);
        let (hold, ask, units) = (guard.call, Some(ASK), None);
        self.input(me, CallInput::Renew { hold, ask, units }, rules);
    }

    /// What the client has told its process.
    fn hear(&mut self, me: u8, rules: &Setup) {
        self.see(me);
        let index = usize::from(me);
        let member = &mut self.network.members[index];
        let heard = core::mem::take(&mut member.heard).pop();
        let has_it = !member.guards.is_empty();
        match (&mut self.seats[index].stage, heard) {
            (Stage::Waiting, Some(Err(failure))) => self.fail(me, (&failure).into(), rules),
            (Stage::Granted(true), Some(Err(failure))) => {
                self.release(me, rules);
                self.fail(me, (&failure).into(), rules);
            }
            (Stage::Granted(asks), Some(Ok(()))) => *asks = false,
            (stage @ Stage::Waiting, None) if has_it => *stage = Stage::Granted(false),
            _ => {}
        }
    }

    /// The process sees until when the lease is valid.
    fn see(&mut self, me: u8) {
        let index = usize::from(me);
        let guard = self.network.members[index].guards.first();
        if let (Some(office), Some(guard)) = (self.seats[index].office_mut(), guard) {
            office.valid = guard.valid;
        }
    }

    fn release(&mut self, me: u8, rules: &Setup) {
        if !self.network.members[usize::from(me)].guards.is_empty() {
            self.network.happen(Step::Release(me, 0), &rules.network);
        }
    }

    fn term(&mut self, me: u8, input: Input, rules: &Setup) {
        let (office, member) = self.office(me);
        for effect in office.on(input, member) {
            match effect {
                Effect::Tell(_) => {}
                Effect::Overrun { aborts, .. } => {
                    let in_time = rules.bodies == Bodies::InTime && rules.faults.suspends == 0;
                    self.past.overran_in_time |= in_time && self.seats[usize::from(me)].has_body();
                    if aborts {
                        self.network.members[usize::from(me)].die();
                        self.seats[usize::from(me)] = Seat::new();
                        return;
                    }
                }
                Effect::GiveUp => self.release(me, rules),
            }
        }
    }

    /// The body has ended, or can't begin any more.
    fn end(&mut self, me: u8, returned: Option<bool>, rules: &Setup) {
        let (office, member) = self.office(me);
        let was_told = office.told.is_some() && returned == Some(false);
        let ends = ends_lead(returned, office.check(member));
        office.on(Input::Ended, member);
        let now = member.now;
        self.past.lost_error_ended |= was_told && ends;
        let behind = self.waiting(rules) & !(1 << me);
        let seat = &mut self.seats[usize::from(me)];
        (seat.stage, seat.behind) = match ends {
            true => (Stage::Ended, 0),
            false => (Stage::Away(now), behind),
        };
        self.release(me, rules);
    }

    /// The calls that wait fail, and the body is told.
    fn drain(&mut self, me: u8, rules: &Setup) {
        self.left.drains -= 1;
        let seat = &mut self.seats[usize::from(me)];
        seat.draining = true;
        match seat.stage {
            Stage::Waiting => {
                let waiters = self.network.members[usize::from(me)].state.waiters();
                let calls = waiters.map(|waiter| waiter.id).collect();
                self.input(me, CallInput::Dismiss { calls }, rules);
                self.fail(me, Failed::ForGood, rules);
            }
            Stage::Leading(_) => self.term(me, Input::Tell(LossCause::ShutDown), rules),
            Stage::Away(_) | Stage::Granted(_) | Stage::Ended => {}
        }
    }
}
