//! The calls for one name: clients are [`client::State`](auto_mutex_protocol::client::State)s and the store is a
//! [`State`](auto_mutex_protocol::State). Around them are a network, clocks, crashes, restarts and failovers ([`world`]);
//! [`rules`] says what may happen in a run, [`properties`] what must hold, and [`runs`] lists the runs.

pub mod properties;
pub mod rules;
pub mod runs;
pub mod world;

use stateright::{Model, Property};

use self::rules::Setup;
use self::world::{Action, World};

impl Model for Setup {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.enabled(self, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.happen(action, self);
        next.canonical(self);
        // What changes nothing does not count.
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}
