//! Tables of outcomes.

use crate::check::Outcome;

/// Prints the outcomes of runs in which every property must hold. Returns `false` if a property does not hold.
#[must_use]
pub(crate) fn holding(
    title: &str,
    outcomes: impl Iterator<Item = (&'static str, Outcome)>,
) -> bool {
    println!("{title}\n");
    println!("| run | states | different | depth | seconds |");
    println!("|---|---|---|---|---|");
    let mut good = true;
    for (run, outcome) in outcomes {
        let Outcome {
            states,
            unique,
            depth,
            took,
            broken,
            ..
        } = outcome;
        let seconds = took.as_secs_f64();
        println!("| {run} | {states} | {unique} | {depth} | {seconds:.1} |");
        for (property, path) in broken {
            good = false;
            println!("\n    BROKEN: {property}: {}", path.join("; "));
        }
    }
    good
}

/// Prints the outcomes of runs that must each break a property. Returns `false` if a run does not break its property.
#[must_use]
pub(crate) fn broken(
    title: &str,
    outcomes: impl Iterator<Item = (&'static str, &'static str, Outcome)>,
) -> bool {
    println!("\n{title}\n");
    println!("| without | what breaks | steps | how |");
    println!("|---|---|---|---|");
    let mut good = true;
    for (run, property, outcome) in outcomes {
        if let Some(path) = outcome.broken.get(property) {
            let (steps, how) = (path.len(), path.join("; "));
            println!("| {run} | {property} | {steps} | {how} |");
        } else {
            good = false;
            let states = outcome.unique;
            println!("    NOT BROKEN: {run}: {property} ({states} states)");
        }
    }
    good
}
