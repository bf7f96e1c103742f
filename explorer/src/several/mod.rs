//! Calls for several names. Each name is a [`World`](crate::name::world::World) of its own, in which no time passes; the calls are
//! [`Together`](auto_mutex_protocol::client::Together)s, as they ship. What is here is what the shell does for one: it enters
//! names, gives them back, and tells the call what has become of them.

mod properties;
mod runs;
mod world;

pub use self::properties::{EXCLUSION, GETS_IN, NOTHING_LEFT, ORDER, WHOLE};
pub use self::runs::{Run, all};
pub use self::world::{Action, World};

use auto_mutex_protocol::client::Patience;
use stateright::{Model, Property};

use crate::name::rules::Setup;

/// A run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How many names there are, all of which each call takes.
    pub names: usize,
    /// How often each client calls.
    pub calls: u8,
    /// How long each call waits.
    pub patience: Patience,
    /// The rules of each name.
    pub name: Setup,
}

impl Model for Rules {
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
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}
