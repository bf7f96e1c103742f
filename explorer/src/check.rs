//! Looks at every state of a run, with stateright.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

use crate::properties;
use crate::rules::{Rules, Setup};
use crate::world::{Action, World};

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

/// What a run has shown.
#[derive(Debug)]
pub struct Outcome {
    /// How many different states there are.
    pub states: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The properties that do not hold, each with a way to a state without it.
    pub broken: BTreeMap<&'static str, Vec<Action>>,
    /// What some state must have, but none does.
    pub unseen: Vec<&'static str>,
}

/// Looks at every state, until a property does not hold.
pub fn explore(rules: &Rules) -> Outcome {
    look(rules, HasDiscoveries::AnyFailures)
}

/// Looks for a state without this property.
pub fn refute(rules: &Rules, property: &'static str) -> Option<Vec<Action>> {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    look(rules, until).broken.remove(property)
}

/// Goes one way, and returns the properties that do not hold somewhere on it. A counterexample thus becomes a test.
pub fn replay(rules: &Rules, way: &[Action]) -> BTreeSet<&'static str> {
    let model = Setup::new(rules.clone());
    let properties = model.properties();
    let must_hold = |it: &&Property<Setup>| it.expectation == Expectation::Always;
    let (mut world, mut broken) = (World::new(&model), BTreeSet::new());
    for action in way {
        let Some(next) = model.next_state(&world, *action) else {
            continue;
        };
        world = next;
        let broken_now = properties.iter().filter(must_hold);
        let broken_now = broken_now.filter(|it| !(it.condition)(&model, &world));
        broken.extend(broken_now.map(|property| property.name));
    }
    broken
}

fn look(rules: &Rules, until: HasDiscoveries) -> Outcome {
    let started = Instant::now();
    let model = Setup::new(rules.clone());
    let properties = model.properties();
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    let found = checker.discoveries();
    let (mut broken, mut unseen) = (BTreeMap::new(), Vec::new());
    for property in properties {
        let path = found.get(property.name);
        if property.expectation.discovery_is_failure() {
            broken.extend(path.map(|path| (property.name, path.clone().into_actions())));
        } else if path.is_none() {
            unseen.push(property.name);
        }
    }
    Outcome {
        states: checker.unique_state_count(),
        depth: checker.max_depth().saturating_sub(1),
        took: started.elapsed(),
        broken,
        unseen,
    }
}
