//! The tables.

use super::{Size, explore, holding, limits, refute_shortly, removals};

/// Makes the runs of this size, or all, and prints what came of them. `false` if something was not as it should be.
#[must_use]
pub fn report(large: bool, only: &str, threads: usize) -> bool {
    let mut good = true;
    println!("What holds\n");
    println!("| run | states | different | depth | seconds |");
    println!("|---|---|---|---|---|");
    for run in holding() {
        if !run.name.contains(only) || run.size == Size::Large && !large {
            continue;
        }
        // With several threads the depth is not exact.
        let threads = if run.size == Size::Large { threads } else { 1 };
        let outcome = explore(run.rules, threads);
        println!(
            "| {} | {} | {} | {} | {:.1} |",
            run.name,
            outcome.states,
            outcome.unique,
            outcome.depth,
            outcome.took.as_secs_f64()
        );
        for (property, path) in outcome.broken {
            good = false;
            println!("\n    BROKEN: {property}: {}", path.join("; "));
        }
    }
    for (title, runs) in [
        ("What each rule is for", removals()),
        ("What it rests on", limits()),
    ] {
        println!("\n{title}\n");
        println!("| without | what breaks | steps | how |");
        println!("|---|---|---|---|");
        for run in runs {
            if !run.name.contains(only) {
                continue;
            }
            let outcome = refute_shortly(&run.rules, run.property);
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
                    println!(
                        "    NOT BROKEN: {}: {} ({} states)",
                        run.name, run.property, outcome.unique
                    );
                }
            }
        }
    }
    good
}
