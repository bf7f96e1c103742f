//! What happens in the end. From some states of a run, these walk on: nothing more goes wrong, and every process takes
//! each step that is due, for a limited number of ticks.

use super::action::Action;
use super::rules::Setup;
use super::seat::Stage;
use super::world::World;
use crate::name::world::{Action as Step, Member, fingerprint};

/// More steps within a tick are a loop.
const STEPS: usize = 200;

/// One state in so many is looked at: the walks from the others soon meet one of these.
const SAMPLE: u64 = 16;

/// What goes on while nothing more goes wrong.
#[derive(Clone, Copy)]
struct Walk {
    /// Clients that are cut off connect again.
    connect: bool,
    /// Bodies report progress, and end when they are told. Otherwise they all hang.
    end: bool,
}

/// Whether some other seat leads in time if every body hangs from now on. Suspended processes stay suspended, and
/// clients that are cut off stay so.
pub(super) fn hung_body_is_followed(rules: &Setup, world: &World) -> bool {
    let stands = |me: &u8| {
        let (seat, member) = world.seat(*me);
        let answers = world.is_up(*me) && member.link.connected;
        answers && seat.office().is_none() && !seat.draining && seat.stage != Stage::Ended
    };
    let standbys: Vec<_> = (0..rules.seats).filter(stands).collect();
    if standbys.is_empty() || !fingerprint(world).is_multiple_of(SAMPLE) {
        return true;
    }
    let mut world = world.clone();
    let walk = Walk {
        connect: false,
        end: false,
    };
    for _ in 0..patience(rules) {
        if !settle(&mut world, walk, rules) {
            return false;
        }
        if standbys.iter().any(|me| world.seat(*me).0.has_body()) {
            return true;
        }
        pass_a_tick(&mut world, rules);
    }
    false
}

/// Whether in the end one live process leads and the others wait in the queue, apart from those whose lead has ended.
/// Suspended processes wake, clients connect, and told bodies end.
pub(super) fn all_stand(rules: &Setup, world: &World) -> bool {
    if !fingerprint(world).is_multiple_of(SAMPLE) {
        return true;
    }
    let may_end = |me| world.seat(me).0.draining || world.seat(me).0.stage == Stage::Ended;
    let mut then = world.clone();
    for seat in &mut then.seats {
        seat.suspended = false;
    }
    let walk = Walk {
        connect: true,
        end: true,
    };
    for _ in 0..patience(rules) {
        if !settle(&mut then, walk, rules) {
            return false;
        }
        pass_a_tick(&mut then, rules);
    }
    if !settle(&mut then, walk, rules) {
        return false;
    }
    let waiters = then.record(rules).waiters;
    let (mut live, mut leading) = (0, 0);
    for me in 0..rules.seats {
        let (seat, member) = then.seat(me);
        let good = match &seat.stage {
            _ if member.dead => continue,
            Stage::Ended if may_end(me) => continue,
            Stage::Leading(office) => {
                leading += 1;
                office.runs && office.check(member)
            }
            Stage::Waiting => (waiters.iter()).any(|it| Member::number(it.member) == me),
            Stage::Away(_) | Stage::Granted(_) | Stage::Ended => false,
        };
        live += 1;
        if !good || seat.draining {
            return false;
        }
    }
    leading == live.min(1)
}

/// The number of ticks within which the next seat leads: a closed store, the leases of processes that are gone, a place
/// of each that is granted and not claimed, a pause, and a body that hangs.
fn patience(rules: &Setup) -> u8 {
    2 * rules.lease + rules.seats + rules.progress + rules.stop_within + 2
}

fn pass_a_tick(world: &mut World, rules: &Setup) {
    world.happen(Action::Network(Step::Tick(0)), rules);
}

/// Does everything that is due. Returns `false` if that never ends.
fn settle(world: &mut World, walk: Walk, rules: &Setup) -> bool {
    for _ in 0..STEPS {
        let due = (0..rules.seats).find_map(|me| duty(world, me, walk, rules));
        let Some(action) = due else {
            return true;
        };
        world.happen(action, rules);
    }
    false
}

/// What a process, its client or its connection has to do now.
fn duty(world: &World, me: u8, walk: Walk, rules: &Setup) -> Option<Action> {
    let (seat, member) = world.seat(me);
    let link = &member.link;
    let arrives = if !link.late.is_empty() {
        Some(Step::Late(me, 0))
    } else if !link.requests.is_empty() {
        Some(Step::Execute(me))
    } else if member.dead {
        link.connected.then_some(Step::Notice(me))
    } else if seat.suspended {
        return None;
    } else {
        (!link.connected && walk.connect).then_some(Step::Connect(me))
    };
    if member.dead || arrives.is_some() {
        return arrives.map(Action::Network);
    }
    match &seat.stage {
        Stage::Away(from) if *from <= member.now && link.connected => Some(Action::Stand(me)),
        Stage::Granted(false) => Some(Action::Begin(me)),
        Stage::Leading(office) if office.look <= member.now => Some(Action::Look(me)),
        Stage::Leading(office) if !office.runs => Some(Action::Body(me)),
        Stage::Leading(office) if walk.end => {
            if office.term.told().is_some() || !office.check(member) {
                Some(Action::Return(me, false))
            } else {
                let works = office.stalls < rules.seat.stalls_at(member.now);
                works.then_some(Action::Progress(me))
            }
        }
        _ => None,
    }
}
