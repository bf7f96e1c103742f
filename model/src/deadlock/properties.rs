//! What must hold in every state, and what must be possible in some state.

use stateright::{Model, Property};

use super::rules::Rules;
use super::search::{Search, Verdict};
use super::truth::is_in_a_cycle;
use super::world::{Action, World};

/// All parts of a reported deadlock were deadlocked at the same time, between the two rounds.
pub const TRUE: &str = "no false report";
/// All tasks of a deadlock choose the same call to fail.
pub const ONE: &str = "one victim";
/// In every state, each task of a cycle finds the cycle if its search is undisturbed.
pub const FOUND: &str = "every deadlock is found";
/// A deadlock of two holds is reported.
pub const TWO_STEPS: &str = "a deadlock of two holds is reported";
/// A deadlock of three holds is reported.
pub const THREE_STEPS: &str = "a deadlock of three holds is reported";
/// The properties that some run must reach.
pub const POSSIBLE: [&str; 2] = [TWO_STEPS, THREE_STEPS];

/// The model: the search under some rules.
#[derive(Clone, Debug)]
pub struct Deadlocks(pub Rules);

impl Model for Deadlocks {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.enabled(&self.0, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.happen(action, &self.0);
        next.normalise(&self.0);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(TRUE, |_, world: &World| {
                world.search != Search::Over(Verdict::False)
            }),
            Property::always(ONE, |_, world: &World| {
                world.search != Search::Over(Verdict::Split)
            }),
            Property::always(FOUND, |model: &Self, world: &World| {
                world.search != Search::Idle || every_deadlock_is_found(world, &model.0)
            }),
            Property::sometimes(TWO_STEPS, |_, world: &World| {
                world.search == Search::Over(Verdict::True(2))
            }),
            Property::sometimes(THREE_STEPS, |_, world: &World| {
                world.search == Search::Over(Verdict::True(3))
            }),
        ]
    }
}

fn every_deadlock_is_found(world: &World, rules: &Rules) -> bool {
    (0..world.tasks.len()).all(|task| {
        !is_in_a_cycle(world, task, rules) || world.search_at_once(task, rules).is_some()
    })
}
