//! Leading: every property holds in every state, and the checker notices each rule that is left out.

use auto_mutex_model::leading::check::{explore, refute};
use auto_mutex_model::leading::properties::POSSIBLE;
use auto_mutex_model::leading::rules::Safeguard;
use auto_mutex_model::leading::runs::{Broken, broken, limits, runs};

#[test]
fn every_property_of_leading_holds_in_every_state() {
    let mut unseen = POSSIBLE.to_vec();
    for run in runs() {
        let outcome = explore(run.rules);
        println!(
            "{}: {} states, {} deep",
            run.name, outcome.unique, outcome.depth
        );
        assert!(
            outcome.broken.is_empty(),
            "{}: {:?}",
            run.name,
            outcome.broken
        );
        assert!(
            outcome.unique > 1000,
            "{}: is anything happening?",
            run.name
        );
        unseen.retain(|name| outcome.unseen.contains(name));
    }
    assert!(unseen.is_empty(), "no run has seen {unseen:?}");
}

fn is_found_out(run: Broken) {
    let outcome = refute(&run.rules, run.property);
    let Some(path) = outcome.broken.get(run.property) else {
        panic!("{}: nothing found in {} states", run.name, outcome.unique);
    };
    println!(
        "{}: {} ({} steps): {}",
        run.name,
        run.property,
        path.len(),
        path.join("; ")
    );
}

#[test]
fn each_rule_of_leading_left_out_is_found_out() {
    broken().into_iter().for_each(is_found_out);
}

#[test]
fn each_assumption_of_leading_taken_away_is_found_out() {
    limits().into_iter().for_each(is_found_out);
}

#[test]
fn every_rule_of_leading_is_left_out_once() {
    let broken = broken();
    for safeguard in Safeguard::ALL {
        let left_out = broken.iter().any(|run| !run.rules.keeps(safeguard));
        assert!(left_out, "{safeguard:?}");
    }
}
