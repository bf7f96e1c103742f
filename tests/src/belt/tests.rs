//! Tests of the belt, without locks.

use super::{Belt, Deed, Ledger, Outcome};
use crate::witness::Witness;

#[test]
fn items_go_over_the_belt_in_order() {
    let witness = Witness::new();
    let port = witness.port();
    let mut producer = Belt::at(port, "x".into(), "p".into(), 2);
    let mut consumer = Belt::at(port, "x".into(), "c".into(), 2);
    assert_eq!(consumer.step(1, Deed::Take), Outcome::Empty);
    assert_eq!(producer.step(2, Deed::Put), Outcome::Done);
    producer.notified(1);
    assert_eq!(producer.step(2, Deed::Put), Outcome::Done);
    assert_eq!(producer.step(2, Deed::Put), Outcome::Full);
    consumer.woken();
    assert_eq!(consumer.step(1, Deed::Take), Outcome::Stale);
    assert_eq!(consumer.step(3, Deed::Take), Outcome::Done);
    assert_eq!(producer.step(4, Deed::Close), Outcome::Done);
    assert_eq!(producer.step(4, Deed::Put), Outcome::Closed);
    assert_eq!(consumer.step(5, Deed::Take), Outcome::Done);
    assert_eq!(consumer.step(5, Deed::Take), Outcome::Closed);
    consumer.woken();
    consumer.flush();
    let ledger = Ledger::at(port);
    assert_eq!((ledger.put, ledger.taken), (2, 2));
    assert_eq!((ledger.notified, ledger.woken), (1, 2));
    assert_eq!(witness.progress(), 4);
    assert!(ledger.faults.is_empty());
}
