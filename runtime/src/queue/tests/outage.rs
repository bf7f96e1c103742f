//! A store that does not answer: whoever waits for its word is told in time.

use std::task::{Context, Poll, Waker};

use super::{Rig, SECOND, poll, queued};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::store::{Answer, Events, Node, Op};

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

#[test]
fn what_the_store_cannot_do_has_an_error_of_its_own() {
    let rig = Rig::new();
    for (kind, known) in [
        (StoreErrorKind::Unsupported, "does not support"),
        (
            StoreErrorKind::Unreplicated {
                wanted: 2,
                reached: 1,
            },
            "1 of 2",
        ),
    ] {
        let mut waits = rig.enter(&Rig::want());
        let request = rig.next();
        let result = Err(StoreError::new(kind, "that"));
        rig.member.answered(Answer { request, result });
        let told = poll(&mut waits).expect("an answer").map(drop).unwrap_err();
        assert!(!matches!(told, LockError::Unavailable { .. }), "{told:?}");
        assert!(told.to_string().contains(known), "{told}");
        super::lock(&rig.wire.0).clear();
    }
}
