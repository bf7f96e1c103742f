//! What can happen next.

use super::action::Action;
use super::rules::Setup;
use super::seat::{Office, Seat, Stage};
use super::world::World;
use crate::name::world::{Action as Step, Member};

/// How many requests of a client may be unanswered: beyond it, only what must be sent is.
pub(super) const PIPELINE: usize = 1;

impl World {
    /// Collects what can happen now.
    pub fn enabled(&self, rules: &Setup, actions: &mut Vec<Action>) {
        for me in 0..rules.seats {
            let (seat, member) = self.seat(me);
            self.arrivals_of(me, actions);
            if member.dead {
                let notices = member.link.connected.then_some(Step::Notice(me));
                actions.extend(notices.map(Action::Network));
                continue;
            }
            if self.is_up(me) {
                steps_of(seat, member, rules, actions);
            }
            self.faults_of(seat, member, actions);
        }
        let left = &self.network.left;
        if left.restarts > 0 {
            actions.push(Action::Network(Step::Restart));
        }
        if left.forces > 0 {
            actions.push(Action::Network(Step::Force));
        }
        if !(0..rules.seats).any(|me| self.holds_up_time(me, rules)) {
            actions.push(Action::Network(Step::Tick(0)));
        }
    }

    /// What the store may execute.
    fn arrivals_of(&self, me: u8, actions: &mut Vec<Action>) {
        let link = &self.network.members[usize::from(me)].link;
        let mut steps = Vec::new();
        if !link.requests.is_empty() {
            steps.push(Step::Execute(me));
        }
        steps.extend((0..link.late.len() as u8).map(|index| Step::Late(me, index)));
        actions.extend(steps.into_iter().map(Action::Network));
    }

    fn faults_of(&self, seat: &Seat, member: &Member, actions: &mut Vec<Action>) {
        let (me, left) = (member.me, &self.network.left);
        if seat.suspended {
            actions.push(Action::Wake(me));
        } else if self.left.suspends > 0 && seat.stage != Stage::Ended {
            actions.push(Action::Suspend(me));
        }
        if seat.stage == Stage::Ended {
            return;
        }
        if left.crashes > 0 {
            actions.push(Action::Network(Step::Crash(me)));
        }
        if left.breaks > 0 && member.link.connected {
            actions.push(Action::Network(Step::Break(me)));
        }
        if self.left.drains > 0 && !seat.suspended && !seat.draining {
            actions.push(Action::Drain(me));
        }
    }

    /// Whether something is done before time goes on.
    fn holds_up_time(&self, me: u8, rules: &Setup) -> bool {
        let (seat, member) = self.seat(me);
        let begins = match &seat.stage {
            Stage::Away(from) => *from <= member.now && may_stand(seat, member, rules),
            Stage::Granted(asks) => !asks,
            Stage::Leading(office) => !office.runs,
            Stage::Waiting | Stage::Ended => false,
        };
        self.is_up(me) && (begins || seat.is_due(member.now, rules))
    }

    /// Whether the requests of a client may take any time.
    pub(super) fn is_slow(&self, me: u8, rules: &Setup) -> bool {
        let stage = &self.seat(me).0.stage;
        rules.slow && matches!(stage, Stage::Granted(_) | Stage::Leading(_))
    }
}

/// What a process that runs can do.
fn steps_of(seat: &Seat, member: &Member, rules: &Setup, actions: &mut Vec<Action>) {
    let (me, link) = (member.me, &member.link);
    if !link.connected {
        actions.push(Action::Network(Step::Connect(me)));
    }
    match &seat.stage {
        Stage::Away(from) if may_stand(seat, member, rules) && *from <= member.now => {
            actions.push(Action::Stand(me));
        }
        Stage::Granted(false) => actions.push(Action::Begin(me)),
        Stage::Leading(office) => steps_in_office(office, member, rules, actions),
        Stage::Away(_) | Stage::Waiting | Stage::Granted(true) | Stage::Ended => {}
    }
}

/// A draining seat only learns that it can't. One that is cut off waits for the store, unless it fails.
fn may_stand(seat: &Seat, member: &Member, rules: &Setup) -> bool {
    let link = &member.link;
    seat.draining || link.unanswered() < PIPELINE && (link.connected || rules.store_timeout > 0)
}

fn steps_in_office(office: &Office, member: &Member, rules: &Setup, actions: &mut Vec<Action>) {
    let me = member.me;
    if office.look <= member.now {
        actions.push(Action::Look(me));
    }
    if !office.runs {
        return actions.push(Action::Body(me));
    }
    // Without the lock, it makes no difference.
    if office.stalls < rules.seat.stalls_at(member.now) && !member.guards.is_empty() {
        actions.push(Action::Progress(me));
    }
    if rules.returns {
        actions.push(Action::Return(me, true));
    }
    if rules.returns || office.told.is_some() || !office.check(member) {
        actions.push(Action::Return(me, false));
    }
    if rules.resigns && office.term.told().is_none() {
        actions.push(Action::Resign(me));
    }
}
