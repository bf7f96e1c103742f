//! What can happen next.

use auto_mutex_protocol::client::Phase;

use super::action::QUERIES;
use super::forger::FORGERIES;
use super::server::{ERRORS, REPORTS};
use super::{Action, Member, World};
use crate::name::rules::{Clocks, Setup};

impl World {
    /// Collects what can happen now.
    pub fn enabled(&self, rules: &Setup, actions: &mut Vec<Action>) {
        for member in &self.members {
            self.steps_of(member, rules, actions);
            self.arrivals_of(member, rules, actions);
        }
        if self.left.signals > 0 {
            actions.push(Action::Signal(false));
            if rules.capacity() == 0 {
                actions.push(Action::Signal(true));
            }
        }
        if self.left.forces > 0 {
            actions.push(Action::Force);
        }
        if self.left.kicks > 0 {
            actions.push(Action::Look);
            actions.extend((self.seen > 0).then_some(Action::Kick));
        }
        if self.left.restarts > 0 {
            actions.push(Action::Restart);
        }
        if self.left.steps_back > 0 {
            actions.push(Action::StepBack);
        }
        if self.left.failovers > 0 {
            // Only the last copy makes a difference.
            if self.replica.is_none() {
                actions.push(Action::Replicate);
            }
            actions.push(Action::Failover);
        }
        if rules.sweeps {
            actions.push(Action::Sweep);
        }
        if let Some(message) = &self.overheard {
            let to = message.ticket().map(|ticket| self.member_of(ticket));
            if to.is_some_and(|to| {
                to.link.connected && to.link.unanswered() <= rules.pipeline.into()
            }) {
                actions.extend((0..FORGERIES.len() as u8).map(Action::Forge));
            }
        }
        self.ticks(rules, actions);
    }

    fn steps_of(&self, member: &Member, rules: &Setup, actions: &mut Vec<Action>) {
        let me = member.me;
        if member.dead {
            actions.extend(member.link.connected.then_some(Action::Notice(me)));
            return;
        }
        let (waiting, trying) = (
            member.state.waiters().count(),
            member.state.attempts().count(),
        );
        let may_send = member.may_send(rules);
        if member.to_come > 0
            && (member.link.connected || member.is_new)
            && may_send
            && member.guards.len() + waiting + trying < rules.calls_of(me).1.into()
        {
            actions.push(Action::Enter(me));
            actions.extend(self.exported.map(|_| Action::Adopt(me)));
        }
        if may_send {
            let guards = 0..member.guards.len() as u8;
            actions.extend(guards.clone().map(|index| Action::Release(me, index)));
            if self.left.exports > 0 {
                actions.extend(guards.clone().map(|index| Action::Export(me, index)));
            }
            if self.left.renewals > 0 {
                actions.extend(guards.clone().map(|index| Action::Renew(me, index)));
            }
            if self.left.misses > 0 {
                let missed = guards.clone().filter(|index| member.has_missed(*index));
                actions.extend(missed.map(|index| Action::Miss(me, index)));
            }
            if rules.cancels && rules.capacity() == 0 {
                actions.extend(guards.map(|index| Action::Return(me, index)));
            }
            if self.left.queries > 0 {
                actions.extend((0..QUERIES).map(|query| Action::Ask(me, query)));
            }
            if self.left.drains > 0 && member.phase == Phase::Open {
                actions.push(Action::Drain(me));
            }
            if self.left.closes > 0 && !member.phase.is_over() {
                actions.push(Action::Close(me));
            }
            if rules.cancels {
                let waiting = 0..(waiting + trying) as u8;
                actions.extend(waiting.map(|index| Action::Leave(me, index)));
            }
            if member.is_due(rules) {
                actions.push(Action::Due(me));
                actions.extend((self.left.suspensions > 0).then_some(Action::Resume(me)));
            }
            if member.keeps() && member.to_come == 0 {
                actions.push(Action::ReleaseKept(me));
            }
        }
        if !member.link.connected {
            if self.left.reports > 0 {
                actions.extend((0..REPORTS).map(|what| Action::Report(me, what)));
            }
            actions.push(Action::Connect(me));
        } else if self.left.breaks > 0 {
            actions.push(Action::Break(me));
        }
        if self.left.crashes > 0 {
            actions.push(Action::Crash(me));
        }
        if self.left.doubts > 0 {
            actions.push(Action::Doubt(me));
        }
    }

    fn arrivals_of(&self, member: &Member, rules: &Setup, actions: &mut Vec<Action>) {
        let (me, link) = (member.me, &member.link);
        if !link.requests.is_empty() {
            actions.push(Action::Execute(me));
            if self.left.errors > 0 && !member.dead {
                actions.extend((0..ERRORS).map(|error| Action::Refuse(me, error)));
            }
        }
        actions.extend((0..link.late.len() as u8).map(|index| Action::Late(me, index)));
        if member.dead {
            return;
        }
        if !link.answers.is_empty() {
            actions.push(Action::Reply(me));
        }
        for index in 0..link.messages.len() as u8 {
            // One more: the client may ask at once whether it is true.
            if link.unanswered() <= rules.pipeline.into() {
                actions.push(Action::Message(me, index));
                if self.left.copies > 0 {
                    actions.push(Action::Copy(me, index));
                }
            }
            if self.left.overhears > 0 {
                actions.push(Action::Overhear(me, index));
            }
            if self.left.losses > 0 {
                actions.push(Action::Lose(me, index));
            }
        }
    }

    fn ticks(&self, rules: &Setup, actions: &mut Vec<Action>) {
        // A slow clock matters only to a client with a ticket.
        let slow = |member: &&Member| member.slips > 0 && !member.state.is_idle();
        let slow = self
            .members
            .iter()
            .filter(slow)
            .map(|member| 1 << member.me);
        let slow: u8 = match rules.clocks {
            Clocks::Together => slow.sum(),
            Clocks::Stopped => 0,
            Clocks::Frozen => return,
        };
        let mut set = slow;
        loop {
            actions.push(Action::Tick(set));
            if set == 0 {
                break;
            }
            set = (set - 1) & slow;
        }
    }
}

impl Member {
    fn may_send(&self, rules: &Setup) -> bool {
        self.link.unanswered() < rules.pipeline.into()
    }
}
