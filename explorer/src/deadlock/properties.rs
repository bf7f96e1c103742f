//! What must hold in every state, and what some state must have.

use stateright::Property;

use super::rules::Setup;
use super::search::Verdict;
use super::truth::{is_in_a_cycle, stuck_tasks};
use super::world::{Action, World};

/// All parts of a reported deadlock were deadlocked at the same time, between the two passes.
pub const TRUE: &str = "no false report";
/// All tasks of a deadlock choose the same call.
pub const ONE: &str = "one victim";
/// In every state, each task of a cycle finds it if its search is undisturbed.
pub const FOUND: &str = "every deadlock is found";
/// A deadlock of two holds is reported.
pub const TWO_STEPS: &str = "a deadlock of two holds is reported";
/// A deadlock of three holds is reported.
pub const THREE_STEPS: &str = "a deadlock of three holds is reported";

crate::check::model!(Setup, World, Action, all);

pub(super) fn all(rules: &Setup) -> Vec<Property<Setup>> {
    let mut all = vec![
        Property::always(TRUE, |_, world: &World| {
            world.past.verdict != Some(Verdict::False)
        }),
        Property::always(ONE, |_, world: &World| {
            world.past.verdict != Some(Verdict::Split)
        }),
        Property::always(FOUND, every_deadlock_is_found),
        Property::sometimes(TWO_STEPS, |_, world: &World| {
            world.past.verdict == Some(Verdict::True(2))
        }),
    ];
    if rules.members.len() > 2 && rules.capacities.len() > 2 {
        all.push(Property::sometimes(THREE_STEPS, |_, world: &World| {
            world.past.verdict == Some(Verdict::True(3))
        }));
    }
    all
}

fn every_deadlock_is_found(rules: &Setup, world: &World) -> bool {
    if world.searches.pass().is_some() || world.past.verdict.is_some() {
        return true;
    }
    let stuck = stuck_tasks(world, rules);
    let mut cycles = stuck
        .iter()
        .filter(|task| is_in_a_cycle(world, **task, &stuck));
    cycles.all(|task| world.chosen_by(*task, rules).is_some())
}
