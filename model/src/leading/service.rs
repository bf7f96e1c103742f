//! Checks of what happens in the end. In each state of a run, they assume that no more faults happen and that every
//! process takes each step that is due, and walk on for a limited number of ticks.

use super::rules::Rules;
use super::seat::{Body, Life, Seat, Stage, Term};
use super::world::{Action, World};

/// Returns whether some other seat leads in time if every body of this state hangs from now on. Suspended processes stay
/// suspended, and cut ones stay cut off.
pub(super) fn hung_body_is_followed(world: &World, rules: &Rules) -> bool {
    let stands = |index: &usize| {
        let seat = &world.seats[*index];
        let ends = ends_now(seat) || seat.draining;
        seat.answers() && !seat.has_body() && !ends
    };
    let standbys: Vec<_> = (0..world.seats.len()).filter(stands).collect();
    let mut world = world.clone();
    for _ in 0..=patience(rules) {
        settle(&mut world, rules, false);
        let mut leading = standbys.iter().map(|index| world.seats[*index].has_body());
        if standbys.is_empty() || leading.any(|leads| leads) {
            return true;
        }
        pass_a_tick(&mut world, rules);
    }
    false
}

/// Returns whether in the end one live process leads and the others wait in the queue, apart from those whose lead has
/// ended. Suspended processes wake, cut ones reach the store, and told bodies end.
pub(super) fn all_stand(world: &World, rules: &Rules) -> bool {
    let may_end = |seat: &Seat| ends_now(seat) || seat.draining;
    let may_end: Vec<_> = world.seats.iter().map(may_end).collect();
    let mut world = world.clone();
    for index in 0..world.seats.len() {
        if world.seats[index].life == Life::Suspended {
            world.happen(Action::Wake(index), rules);
        }
        world.happen(Action::Heal(index), rules);
    }
    for _ in 0..=patience(rules) {
        settle(&mut world, rules, true);
        pass_a_tick(&mut world, rules);
    }
    settle(&mut world, rules, true);
    let (mut live, mut leading) = (0, 0);
    for (seat, may_end) in world.seats.iter().zip(may_end) {
        let good = match &seat.stage {
            _ if seat.life == Life::Dead => continue,
            Stage::Ended => {
                if !may_end {
                    return false;
                }
                continue;
            }
            Stage::Leading(term) => {
                leading += 1;
                term.body == Body::Running && term.over.is_none()
            }
            Stage::Waiting(ticket) => world.store.has_waiter(*ticket),
            Stage::Away => false,
        };
        live += 1;
        if !good || seat.draining {
            return false;
        }
    }
    leading == live.min(1)
}

/// Returns whether the lead of the seat has ended, or ends with its body.
fn ends_now(seat: &Seat) -> bool {
    let with_body = |term: &Term| term.body == Body::Ended(true);
    seat.stage == Stage::Ended || seat.term().is_some_and(with_body)
}

/// The number of ticks within which the next seat leads.
fn patience(rules: &Rules) -> u8 {
    // A closed store, the lease of a process that is gone, and a body that hangs.
    2 * rules.lease + rules.progress + rules.stop_within
}

/// Every process takes the steps that are due, and the store grants.
fn settle(world: &mut World, rules: &Rules, bodies_end: bool) {
    // A seat takes a few steps for a term, and there is at most one new term for each.
    for _ in 0..100 {
        let mut actions = Vec::new();
        world.enabled(rules, &mut actions);
        let chosen = actions.into_iter().find(|action| match action {
            Action::Watch(..)
            | Action::Release(_)
            | Action::Leave(_)
            | Action::Stand(_)
            | Action::Withdraw(_)
            | Action::Pass(_)
            | Action::Grant(_)
            | Action::Begin(_) => true,
            Action::Progress(_) => bodies_end,
            Action::Return(index, false) => {
                let mut terms = world.seats[*index].term().into_iter();
                bodies_end && terms.any(|term| term.over.is_some())
            }
            _ => false,
        });
        match chosen {
            Some(action) => world.happen(action, rules),
            None => return,
        }
    }
}

/// Every holder that can renews its lease, and the clocks advance.
fn pass_a_tick(world: &mut World, rules: &Rules) {
    for index in 0..world.seats.len() {
        let seat = &world.seats[index];
        if seat.answers() && seat.term().is_some_and(|term| term.renews(rules)) {
            world.happen(Action::Renew(index, true), rules);
        }
    }
    settle(world, rules, false);
    world.happen(Action::Tick, rules);
}
