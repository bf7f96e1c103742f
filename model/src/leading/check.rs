//! Runs the model checker on given rules.

use std::collections::BTreeSet;

use stateright::HasDiscoveries;

use super::properties::Leading;
use super::rules::Rules;
use super::runs::{broken, limits, runs};
use crate::runs::{Outcome, check, table};

/// Explores every state, until some property is broken.
#[must_use]
pub fn explore(rules: Rules) -> Outcome {
    check(Leading(rules), 1, HasDiscoveries::AnyFailures, None)
}

/// Looks for a state in which `property` does not hold, by a path with the fewest steps.
#[must_use]
pub fn refute(rules: &Rules, property: &'static str) -> Outcome {
    let run = |depth| {
        let until = HasDiscoveries::AnyOf(BTreeSet::from([property]));
        check(Leading(rules.clone()), 1, until, depth)
    };
    let mut best = run(None);
    while let Some(path) = best.broken.get(property) {
        // As in `crate::runs::refute_shortly`, this finds only shorter paths.
        let shorter = run(Some(path.len() + 1));
        if !shorter.broken.contains_key(property) {
            break;
        }
        best = shorter;
    }
    best
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
