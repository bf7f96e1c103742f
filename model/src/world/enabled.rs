//! The steps that are possible next.

use super::{Action, World};
use crate::member::Member;
use crate::network::Token;
use crate::rules::{Clocks, Rules, Safeguard};

impl World {
    /// Collects all steps that are possible now.
    pub fn enabled(&self, rules: &Rules, actions: &mut Vec<Action>) {
        for index in 0..rules.members {
            self.steps_of(index, rules, actions);
            self.arrivals_of(index, actions);
        }
        let faults = &self.faults;
        if faults.restarts > 0 {
            actions.push(Action::Restart);
        }
        if faults.steps_back > 0 {
            actions.push(Action::StepBack);
        }
        if let Some(replica) = self.replica.as_ref().filter(|_| faults.failovers > 0) {
            if **replica != self.store {
                actions.push(Action::Replicate);
            }
            actions.push(Action::Failover);
        }
        self.ticks(rules, actions);
    }

    fn steps_of(&self, index: u8, rules: &Rules, actions: &mut Vec<Action>) {
        let (member, connection) = (
            &self.members[usize::from(index)],
            &self.connections[usize::from(index)],
        );
        if rules.register && self.can_write(member, rules) {
            actions.push(Action::Write(index));
        }
        if member.dead {
            if connection.connected {
                actions.push(Action::Notice(index));
            }
            return;
        }
        match &member.mine {
            None if member.calls > 0 && connection.connected && member.leaving.len() < 2 => {
                actions.push(Action::Enter(index));
            }
            None => {}
            Some(mine) => {
                // A member asks again only after its last request was answered, or after a reconnect.
                if connection.connected && connection.under_way(mine.ticket) == 0 {
                    actions.push(Action::Ask(index));
                }
                if member.may_keep(connection, rules) {
                    actions.push(Action::Keep(index));
                }
                if member.may_enter_again(rules) {
                    actions.push(Action::Again(index));
                }
                if member.believes() {
                    actions.push(Action::Release(index));
                } else if member.holds() {
                    actions.push(Action::Lose(index));
                } else if rules.cancels {
                    actions.push(Action::Cancel(index));
                }
            }
        }
        if !connection.connected {
            actions.push(Action::Connect(index));
        } else if self.faults.breaks > 0 {
            actions.push(Action::Break(index));
        }
        if self.faults.crashes > 0 {
            actions.push(Action::Crash(index));
        }
        if self.faults.doubts > 0 {
            actions.push(Action::Doubt(index));
        }
    }

    /// Returns whether a write would change anything.
    fn can_write(&self, member: &Member, rules: &Rules) -> bool {
        let taken =
            |pen: Token| pen.seen() >= self.register.seen() || !rules.keeps(Safeguard::Fence);
        member
            .pen
            .is_some_and(|pen| pen != self.register && taken(pen))
    }

    fn arrivals_of(&self, index: u8, actions: &mut Vec<Action>) {
        let connection = &self.connections[usize::from(index)];
        if !connection.requests.is_empty() {
            actions.push(Action::Execute(index));
        }
        for (request, _) in &connection.late {
            actions.push(Action::Late(index, *request));
        }
        if self.members[usize::from(index)].dead {
            return;
        }
        if !connection.replies.is_empty() {
            actions.push(Action::Reply(index));
        }
        for message in &connection.messages {
            actions.push(Action::Message(index, *message));
            if self.faults.losses > 0 {
                actions.push(Action::Lost(index, *message));
            }
            if self.faults.copies > 0 {
                actions.push(Action::Copy(index, *message));
            }
        }
    }

    fn ticks(&self, rules: &Rules, actions: &mut Vec<Action>) {
        match rules.clocks {
            Clocks::Together => {
                // A slow clock matters only to a member with a ticket.
                let slow = |index: &u8| {
                    let member = &self.members[usize::from(*index)];
                    member.mine.is_some() && member.slips > 0
                };
                let slow: u8 = (0..rules.members)
                    .filter(slow)
                    .map(|index| 1 << index)
                    .sum();
                let mut set = slow;
                loop {
                    actions.push(Action::Tick(set));
                    if set == 0 {
                        break;
                    }
                    set = (set - 1) & slow;
                }
            }
            Clocks::Stopped => actions.push(Action::StoreTick),
            Clocks::Free => {
                actions.push(Action::StoreTick);
                for index in 0..rules.members {
                    if self.members[usize::from(index)].mine.is_some() {
                        actions.push(Action::MemberTick(index));
                    }
                }
            }
        }
    }
}
