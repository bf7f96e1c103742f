//! The search for deadlocks: every property holds in every state, and the checker notices each rule that is left out.

use auto_mutex_model::deadlock::check::{explore, refute};
use auto_mutex_model::deadlock::properties::POSSIBLE;
use auto_mutex_model::deadlock::rules::{Rules, Safeguard};
use auto_mutex_model::deadlock::runs::{broken, runs};

#[test]
fn no_report_is_false_and_every_deadlock_is_found() {
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

#[test]
fn each_rule_left_out_is_found_out() {
    for run in broken() {
        let outcome = refute(run.rules, run.property);
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
}

#[test]
fn tokens_and_identities_of_waits_make_up_for_each_other() {
    let broken = broken();
    let both = [Safeguard::WaitIds, Safeguard::Tokens];
    let run = broken.iter().find(|run| run.rules.without == both).unwrap();
    for without in [&[Safeguard::WaitIds], &[Safeguard::Tokens]] {
        let outcome = explore(Rules {
            without,
            ..run.rules.clone()
        });
        assert!(outcome.broken.is_empty(), "{without:?}: {outcome:?}");
    }
}

#[test]
fn every_rule_is_left_out_once() {
    let broken = broken();
    for safeguard in Safeguard::ALL {
        let left_out = broken.iter().any(|run| !run.rules.keeps(safeguard));
        assert!(left_out, "{safeguard:?}");
    }
}
