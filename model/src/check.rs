//! Runs the model checker.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// States that were generated, including repetitions.
    pub states: usize,
    /// Different states.
    pub unique: usize,
    /// The greatest depth: the longest of the shortest paths to any state, in steps.
    pub depth: usize,
    /// How long the run took.
    pub took: Duration,
    /// Properties that do not hold, each with a path to a state that breaks it.
    pub broken: BTreeMap<&'static str, Vec<String>>,
    /// Properties that some state must have, but no explored state has.
    pub unseen: Vec<&'static str>,
}

/// Runs the checker on `model` until `until` is satisfied.
pub(crate) fn check<M>(model: M, until: HasDiscoveries) -> Outcome
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + Display + PartialEq + Send + Sync + 'static,
{
    let started = Instant::now();
    let properties = model.properties();
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    let found = checker.discoveries();
    let (mut broken, mut unseen) = (BTreeMap::new(), Vec::new());
    for property in properties {
        let path = found.get(property.name);
        if property.expectation.discovery_is_failure() {
            broken.extend(path.map(|path| {
                let actions = path.clone().into_actions();
                (
                    property.name,
                    actions.iter().map(ToString::to_string).collect(),
                )
            }));
        } else if path.is_none() {
            unseen.push(property.name);
        }
    }
    Outcome {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth().saturating_sub(1),
        took: started.elapsed(),
        broken,
        unseen,
    }
}
