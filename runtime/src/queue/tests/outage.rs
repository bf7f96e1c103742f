//! A store that does not answer: whoever waits for its word is told in time.

use std::task::{Context, Poll, Waker};

use super::{Rig, SECOND, poll, queued};
use crate::error::{LockError, StoreError};
use crate::store::{Events, Node, Op};

#[test]
fn who_waits_is_told_when_patience_with_the_connection_ends() {
    let mut rig = Rig::patient(1);
    let mut waits = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    rig.member
        .disconnected(Node::ONLY, StoreError::disconnected("cut"));
    rig.pass(SECOND - SECOND / 100);
    assert!(poll(&mut waits).is_none());
    rig.pass(SECOND / 50);
    let told = poll(&mut waits);
    assert!(
        matches!(told, Some(Err(LockError::Unavailable { .. }))),
        "{told:?}"
    );
}

#[test]
fn who_refreshes_is_told_when_no_answer_comes() {
    let mut rig = Rig::patient(1);
    let hold = rig.take(&Rig::want());
    let refreshed = hold.local().refresh(&hold, 5 * SECOND).unwrap().unwrap();
    let touch = rig.next();
    assert!(matches!(touch.op, Op::Touch { .. }), "{touch:?}");
    rig.pass(SECOND / 2);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(refreshed.poll(&mut cx).is_pending());
    rig.pass(SECOND / 2);
    let told = refreshed.poll(&mut cx);
    assert!(
        matches!(told, Poll::Ready(Err(LockError::Unavailable { .. }))),
        "{told:?}"
    );
    assert!(hold.is_valid(), "by its own clock");
}
