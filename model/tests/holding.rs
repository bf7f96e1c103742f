//! Every property holds in every state of the small runs, and some run reaches each state that must be possible.

use std::collections::BTreeSet;

use auto_mutex_model::properties::POSSIBLE;
use auto_mutex_model::runs::{Size, explore, holding};

#[test]
fn every_property_holds_in_every_state() {
    let mut unseen = BTreeSet::from(POSSIBLE);
    for run in holding() {
        if run.size == Size::Large {
            continue;
        }
        let looked_for: BTreeSet<_> = run.looks_for().into_iter().collect();
        let outcome = explore(run.rules, 1);
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
        unseen.retain(|name| !looked_for.contains(name) || outcome.unseen.contains(name));
    }
    assert!(unseen.is_empty(), "no run has seen {unseen:?}");
}
