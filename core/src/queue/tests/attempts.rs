//! Attempts, which do not wait in the store. Each is repeated on its own schedule.

use std::time::Duration;

use super::{Rig, SECOND, granted, poll};
use crate::base::clock::by_hand;
use crate::base::error::LockError;
use crate::queue::{Patience, Want};
use crate::store::{Op, Reply, Request};

fn polling(retries: u32, interval: Duration) -> Want {
    Rig::patience(Patience::Poll {
        retries,
        interval,
        block: None,
    })
}

fn busy(rig: &Rig) {
    rig.answer(rig.next(), Reply::Busy { holder: None });
}

#[track_caller]
fn is_attempt(request: &Request) {
    assert!(matches!(request.op, Op::Acquire { .. }), "{request:?}");
}

#[test]
fn each_is_made_again_at_its_own_time_and_as_often_as_was_asked() {
    let mut rig = Rig::new();
    let mut soon = rig.enter(&polling(1, SECOND));
    let mut late = rig.enter(&polling(1, 3 * SECOND));
    busy(&rig);
    busy(&rig);
    assert!(rig.is_silent());
    rig.pass(SECOND);
    let again = rig.next();
    is_attempt(&again);
    assert!(rig.is_silent(), "the other one has time");
    rig.answer(again, Reply::Busy { holder: None });
    match poll(&mut soon) {
        Some(Err(LockError::TooManyAttempts { attempts, .. })) => assert_eq!(attempts, 2),
        other => panic!("{other:?}"),
    }
    rig.pass(2 * SECOND);
    rig.answer(rig.next(), granted());
    assert!(poll(&mut late).is_some_and(|granted| granted.is_ok()));
}

#[test]
fn one_without_an_answer_is_given_up_in_its_own_time() {
    let mut rig = Rig::patient(5);
    let mut waits = rig.enter(&polling(0, SECOND));
    let unanswered = rig.next();
    let other = rig.enter(&polling(9, SECOND));
    for _ in 0..4 {
        busy(&rig);
        rig.pass(SECOND);
        assert!(poll(&mut waits).is_none());
    }
    busy(&rig);
    rig.pass(SECOND);
    let told = poll(&mut waits);
    assert_is!(told, Some(Err(LockError::Unavailable { .. })));
    drop((unanswered, other));
}

#[test]
fn a_silent_store_has_as_long_as_was_said() {
    // At least one second. A call without its own limit gets the whole `store_timeout`.
    for (silence, seconds) in [(Some(Duration::ZERO), 1), (Some(3 * SECOND), 3), (None, 5)] {
        let mut rig = Rig::patient(5);
        let mut waits = rig.enter(&Rig::patience(Patience::Once { silence }));
        let _unanswered = rig.next();
        rig.run(seconds * SECOND - Duration::from_millis(1));
        assert!(poll(&mut waits).is_none());
        rig.pass(Duration::from_millis(1));
        let told = poll(&mut waits);
        assert_is!(told, Some(Err(LockError::Unavailable { .. })));
    }
}

#[test]
fn one_that_a_busy_store_refuses_is_made_again_soon() {
    let mut rig = Rig::new();
    let mut waits = rig.enter(&polling(0, SECOND));
    rig.refuse(rig.next());
    assert!(poll(&mut waits).is_none());
    rig.pass(Duration::from_millis(200));
    let again = rig.next();
    is_attempt(&again);
    rig.answer(again, granted());
    assert!(poll(&mut waits).is_some_and(|granted| granted.is_ok()));
}

/// The process was suspended after each of two grants, so both were over before the call could use them.
#[test]
fn an_attempt_whose_grant_was_missed_counts_once() {
    let mut rig = Rig::new();
    let mut waits = rig.enter(&polling(3, SECOND));
    for _ in 0..2 {
        rig.answer(rig.next(), granted());
        rig.now = rig.now.after(20 * SECOND);
        by_hand::set(rig.now);
        assert!(poll(&mut waits).is_none());
        let release = rig.next();
        assert!(matches!(release.op, Op::Release { .. }), "{release:?}");
        rig.answer(release, Reply::Gone);
    }
    busy(&rig);
    assert!(poll(&mut waits).is_none(), "one attempt is left");
    rig.pass(SECOND);
    busy(&rig);
    match poll(&mut waits) {
        Some(Err(LockError::TooManyAttempts { attempts, .. })) => assert_eq!(attempts, 4),
        other => panic!("{other:?}"),
    }
}
