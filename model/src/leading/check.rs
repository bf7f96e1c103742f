//! Runs the model checker on given rules.

use stateright::HasDiscoveries;

use super::properties::Leading;
use super::rules::Rules;
use super::runs::{broken, limits, runs};
use crate::check::{Outcome, check, shortest};
use crate::table;

/// Explores every state, until some property is broken.
#[must_use]
pub fn explore(rules: Rules) -> Outcome {
    check(Leading(rules), HasDiscoveries::AnyFailures, None)
}

/// Looks for a state in which `property` does not hold, by a path with the fewest steps.
#[must_use]
pub fn refute(rules: &Rules, property: &'static str) -> Outcome {
    shortest(property, |until, depth| {
        check(Leading(rules.clone()), until, depth)
    })
}

/// Explores the runs whose names contain `only`, and prints their outcomes. Returns `false` if an outcome is not the
/// expected one.
#[must_use]
pub fn report(only: &str) -> bool {
    let chosen = runs().into_iter().filter(|run| run.name.contains(only));
    let outcomes = chosen.map(|run| (run.name, explore(run.rules)));
    let mut good = table::holding("\nLeading", outcomes);
    for (title, runs) in [
        ("What each rule of leading is for", broken()),
        ("What leading rests on", limits()),
    ] {
        let chosen = runs.into_iter().filter(|run| run.name.contains(only));
        let outcomes = chosen.map(|run| (run.name, run.property, refute(&run.rules, run.property)));
        good &= table::broken(title, outcomes);
    }
    good
}
