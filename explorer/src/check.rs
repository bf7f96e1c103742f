//! Looks at every state of a run, with stateright.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use auto_mutex_protocol::Dice;
use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

/// Makes the rules of a run a model of its world. The last parameter lists its properties.
macro_rules! model {
    ($rules:ty, $world:ty, $action:ty, $properties:path) => {
        impl stateright::Model for $rules {
            type State = $world;
            type Action = $action;

            fn init_states(&self) -> Vec<$world> {
                vec![<$world>::new(self)]
            }

            fn actions(&self, world: &$world, actions: &mut Vec<$action>) {
                world.enabled(self, actions);
            }

            fn next_state(&self, world: &$world, action: $action) -> Option<$world> {
                let mut next = world.clone();
                next.happen(action, self);
                next.canonical(self);
                // What changes nothing does not count.
                (next != *world).then_some(next)
            }

            fn properties(&self) -> Vec<stateright::Property<Self>> {
                $properties(self)
            }
        }
    };
}

pub(crate) use model;

/// What can be explored.
pub trait Explored:
    Model<
        State: Clone + Debug + Hash + PartialEq + Send + Sync,
        Action: Copy + Debug + PartialEq + Send + Sync,
    > + Send
    + Sync
    + 'static
{
}

impl<M> Explored for M where
    M: Model<
            State: Clone + Debug + Hash + PartialEq + Send + Sync,
            Action: Copy + Debug + PartialEq + Send + Sync,
        > + Send
        + Sync
        + 'static
{
}

/// A run in which every property holds.
#[derive(Clone, Debug)]
pub struct Run<R> {
    /// Its name, and that of its test.
    pub name: &'static str,
    /// Its rules.
    pub rules: R,
    /// It takes minutes, and some GB.
    pub large: bool,
}

/// A run for every test.
pub(crate) fn small<R>(name: &'static str, rules: R) -> Run<R> {
    let large = false;
    Run { name, rules, large }
}

/// A run that is for tests by hand.
pub(crate) fn large<R>(name: &'static str, rules: R) -> Run<R> {
    let large = true;
    Run { name, rules, large }
}

/// What a run has shown.
#[derive(Debug)]
pub struct Outcome<A> {
    /// How many different states there are.
    pub states: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The properties that do not hold, each with a way to a state without it.
    pub broken: BTreeMap<&'static str, Vec<A>>,
    /// What some state must have, but none does.
    pub unseen: Vec<&'static str>,
}

/// Looks at every state, until a property does not hold.
pub fn explore<M: Explored>(run: M) -> Outcome<M::Action> {
    look(run, HasDiscoveries::AnyFailures)
}

/// Looks for a state without this property.
pub fn refute<M: Explored>(run: M, property: &'static str) -> Option<Vec<M::Action>> {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    look(run, until).broken.remove(property)
}

/// Goes one way, and returns the properties that do not hold somewhere on it. A counterexample thus becomes a test.
/// What cannot happen is left out.
pub fn replay<M: Explored>(run: &M, way: &[M::Action]) -> BTreeSet<&'static str> {
    let properties = run.properties();
    let must_hold = |it: &&Property<M>| it.expectation == Expectation::Always;
    let mut world = run.init_states().remove(0);
    let mut broken = BTreeSet::new();
    for action in way {
        let mut enabled = Vec::new();
        run.actions(&world, &mut enabled);
        let goes_on = enabled.contains(action);
        let Some(next) = goes_on.then(|| run.next_state(&world, *action)).flatten() else {
            continue;
        };
        world = next;
        let broken_now = properties.iter().filter(must_hold);
        let broken_now = broken_now.filter(|it| !(it.condition)(run, &world));
        broken.extend(broken_now.map(|property| property.name));
    }
    broken
}

/// Goes one way of so many steps, which a seed chooses. Returns it up to the first state in which a property does not
/// hold.
pub fn stroll<M: Explored>(
    run: &M,
    seed: u64,
    steps: usize,
) -> Option<(&'static str, Vec<M::Action>)> {
    let (mut dice, properties) = (Dice(seed), run.properties());
    let (mut world, mut way) = (run.init_states().remove(0), Vec::new());
    for _ in 0..steps {
        let mut actions = Vec::new();
        run.actions(&world, &mut actions);
        if actions.is_empty() {
            break;
        }
        let action = dice.of(&actions);
        let Some(next) = run.next_state(&world, action) else {
            continue;
        };
        way.push(action);
        world = next;
        let mut must_hold = properties
            .iter()
            .filter(|it| it.expectation == Expectation::Always);
        if let Some(broken) = must_hold.find(|it| !(it.condition)(run, &world)) {
            return Some((broken.name, way));
        }
    }
    None
}

fn look<M: Explored>(run: M, until: HasDiscoveries) -> Outcome<M::Action> {
    let started = Instant::now();
    let properties = run.properties();
    let checker = run.checker().finish_when(until).spawn_bfs().join();
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
