//! Runs the model checker on given rules.

use std::collections::BTreeSet;

use stateright::HasDiscoveries;

use super::properties::Deadlocks;
use super::rules::Rules;
use super::runs::{broken, runs};
use crate::check::{Outcome, check};
use crate::table;

/// Explores every state, until some property is broken.
#[must_use]
pub fn explore(rules: Rules) -> Outcome {
    check(Deadlocks(rules), HasDiscoveries::AnyFailures)
}

/// Looks for a state in which `property` does not hold.
#[must_use]
pub fn refute(rules: Rules, property: &'static str) -> Outcome {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    check(Deadlocks(rules), until)
}

/// Explores the runs whose names contain `only`, and prints their outcomes. Returns `false` if an outcome is not the
/// expected one.
#[must_use]
pub fn report(only: &str) -> bool {
    let chosen = runs().into_iter().filter(|run| run.name.contains(only));
    let outcomes = chosen.map(|run| (run.name, explore(run.rules)));
    let holds = table::holding("\nThe search for deadlocks", outcomes);
    let chosen = broken().into_iter().filter(|run| run.name.contains(only));
    let outcomes = chosen.map(|run| (run.name, run.property, refute(run.rules, run.property)));
    let breaks = table::broken("What each safeguard is for", outcomes);
    holds && breaks
}
