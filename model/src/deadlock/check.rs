//! Letting the checker loose on some rules.

use std::collections::BTreeSet;

use stateright::HasDiscoveries;

use super::properties::Deadlocks;
use super::rules::Rules;
use super::runs::{broken, runs};
use crate::runs::{Outcome, check};

/// Looks at every state, until some property is broken.
#[must_use]
pub fn explore(rules: Rules) -> Outcome {
    check(Deadlocks(rules), 1, HasDiscoveries::AnyFailures, None)
}

/// Looks for a state in which `property` does not hold.
#[must_use]
pub fn refute(rules: Rules, property: &'static str) -> Outcome {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    check(Deadlocks(rules), 1, until, None)
}

/// Makes the runs whose names have `only` in them, and prints what came of them. `false` if something was not as it should
/// be.
#[must_use]
pub fn report(only: &str) -> bool {
    let mut good = true;
    println!("\nThe search for deadlocks\n");
    println!("| run | states | different | depth | seconds |");
    println!("|---|---|---|---|---|");
    for run in runs().into_iter().filter(|run| run.name.contains(only)) {
        let outcome = explore(run.rules);
        println!(
            "| {} | {} | {} | {} | {:.1} |",
            run.name,
            outcome.states,
            outcome.unique,
            outcome.depth,
            outcome.took.as_secs_f64()
        );
        good &= outcome.broken.is_empty();
        for (property, path) in outcome.broken {
            println!("\n    BROKEN: {property}: {}", path.join("; "));
        }
    }
    println!("\n| without | what breaks | steps | how |");
    println!("|---|---|---|---|");
    for run in broken().into_iter().filter(|run| run.name.contains(only)) {
        let outcome = refute(run.rules, run.property);
        match outcome.broken.get(run.property) {
            Some(path) => println!(
                "| {} | {} | {} | {} |",
                run.name,
                run.property,
                path.len(),
                path.join("; ")
            ),
            None => {
                good = false;
                println!("    NOT BROKEN: {}: {}", run.name, run.property);
            }
        }
    }
    good
}
