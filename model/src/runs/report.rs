//! The tables of all runs.

use super::{Size, explore, holding, limits, refute_shortly, removals, table};

/// Explores the small runs, or all runs with `large`, and prints their outcomes. Returns `false` after an unexpected
/// outcome.
#[must_use]
pub fn report(large: bool, only: &str, threads: usize) -> bool {
    let chosen = holding().into_iter().filter(|run| {
        let is_small = run.size != Size::Large;
        run.name.contains(only) && (large || is_small)
    });
    let outcomes = chosen.map(|run| {
        // Small runs use one thread, because with several the reported depth is inexact.
        let threads = if run.size == Size::Large { threads } else { 1 };
        (run.name, explore(run.rules, threads))
    });
    let mut good = table::holding("What holds", outcomes);
    for (title, runs) in [
        ("What each rule is for", removals()),
        ("What it rests on", limits()),
    ] {
        let chosen = runs.into_iter().filter(|run| run.name.contains(only));
        let outcomes = chosen.map(|run| {
            (
                run.name,
                run.property,
                refute_shortly(&run.rules, run.property),
            )
        });
        good &= table::broken(title, outcomes);
    }
    good
}
