//! Questions about a name, and signals.

use super::{Rig, SECOND, lock};
use crate::error::LockError;
use crate::store::{Events, Node, Op, Signal, Ticket};

#[test]
fn a_signal_is_not_sent_again_when_the_store_may_have_forgotten_it() {
    let mut rig = Rig::new();
    let op = Op::Signal {
        ticket: Ticket::random(),
        signal: Signal::Token("t".into()),
    };
    let asked = rig.member.with_local(&rig.name, |local| local.query(&op));
    // It was executed, but the connection breaks before the answer.
    rig.lose(rig.next());
    rig.pass(29 * SECOND);
    rig.member.connected(Node::ONLY, 2);
    assert!(lock(&rig.wire.0).is_empty(), "it would be signalled twice");
    let word = asked.unwrap().blocking_wait();
    assert!(matches!(word, Err(LockError::Unavailable { .. })));
}
