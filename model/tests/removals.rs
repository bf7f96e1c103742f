//! The checker notices each rule that is left out and each assumption that is dropped: some property no longer holds.

use auto_mutex_model::rules::Safeguard;
use auto_mutex_model::runs::{Broken, limits, refute, removals};

fn is_found_out(run: Broken) {
    let outcome = refute(run.rules, run.property);
    let Some(path) = outcome.broken.get(run.property) else {
        panic!("{}: nothing found in {} states", run.name, outcome.unique);
    };
    println!("{}: {}: {}", run.name, run.property, path.join("; "));
}

#[test]
fn each_rule_left_out_breaks_what_it_is_for() {
    removals().into_iter().for_each(is_found_out);
}

#[test]
fn each_assumption_taken_away_breaks_what_rests_on_it() {
    limits().into_iter().for_each(is_found_out);
}

#[test]
fn every_rule_is_left_out_once() {
    let left_out: Vec<_> = removals()
        .iter()
        .filter_map(|run| run.rules.without)
        .collect();
    for safeguard in Safeguard::ALL {
        assert!(left_out.contains(&safeguard), "{safeguard:?}");
    }
}
