//! The model in the form that the checker needs.

use stateright::{Model, Property};

use super::{Action, World};
use crate::properties;
use crate::rules::Rules;

/// The protocol under some rules.
#[derive(Clone, Debug)]
pub struct Protocol(pub Rules);

impl Model for Protocol {
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
        next.happen(&action, &self.0);
        next.normalise(&self.0);
        // A step that changes nothing does not count.
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(&self.0)
    }
}
