//! Tests the comparison: with one rule of the model changed, the walks must find a difference between the stores.

use auto_mutex_model::rules::{Rules, Safeguard};

use super::walk::walk;

/// Every fault must be found within this many walks.
const WALKS: u64 = 400;

type Fault = fn(&mut Rules);

/// The faults built into the model, one at a time.
const FAULTS: &[(&str, Fault)] = &[
    ("no look whether somebody holds", |rules| {
        rules.without = Some(Safeguard::HolderCheck);
    }),
    ("no look whether somebody waits", |rules| {
        rules.without = Some(Safeguard::QueueCheck);
    }),
    ("an acquire is another one when it comes again", |rules| {
        rules.without = Some(Safeguard::Idempotence);
    }),
    ("a release leaves no tombstone", |rules| {
        rules.without = Some(Safeguard::Tombstone);
    }),
    ("a touch creates a ticket", |rules| {
        rules.without = Some(Safeguard::TouchCreatesNothing);
    }),
    ("a token comes again", |rules| {
        rules.without = Some(Safeguard::LastToken);
    }),
    ("a token from before the clock", |rules| {
        rules.without = Some(Safeguard::ServerTime);
    }),
    ("an unclaimed grant has a full lease", |rules| {
        rules.without = Some(Safeguard::Claim);
    }),
    ("what may not be claimed goes back at once", |rules| {
        rules.without = Some(Safeguard::LeftAlone);
    }),
    ("a place does not end", |rules| {
        rules.without = Some(Safeguard::PlaceEnds);
    }),
    ("a touch of a waiter recalls nobody", |rules| {
        rules.without = Some(Safeguard::RecallAgain);
    }),
    ("an older request of a holder counts", |rules| {
        rules.without = Some(Safeguard::OlderRequest);
    }),
    ("a new token of a touch is not the last", |rules| {
        rules.without = Some(Safeguard::TouchToken);
    }),
    ("a claim takes a tick longer", |rules| rules.claim += 1),
    ("a tombstone lasts a tick longer", |rules| rules.tomb += 1),
];

#[test]
fn faults_that_are_put_into_the_model_are_found() {
    let mut missed = Vec::new();
    for (what, fault) in FAULTS {
        let found = (1..=WALKS).find(|seed| walk(*seed, fault).is_err());
        println!("{what}: walk {found:?}");
        if found.is_none() {
            missed.push(what);
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
