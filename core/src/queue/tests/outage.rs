//! A store that does not answer: every waiting caller gets an error in time.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Rig, SECOND, granted, lock, poll, queued};
use crate::base::error::{LockError, StoreError};
use crate::queue::{Patience, Want};
use crate::store::{NodeChange, Op, Reply, Share};

/// A reply to a waiter far back in the queue, which asks again only after nine seconds.
fn far_away() -> Reply {
    Reply::Queued {
        position: 9,
        again: 9 * SECOND,
        holder: None,
    }
}

#[test]
fn who_waits_is_told_when_patience_with_the_connection_ends() {
    let mut rig = Rig::patient(1);
    let mut waits = rig.enter(&Rig::want());
    rig.answer(rig.next(), far_away());
    // The waiter has nothing to do for a while.
    rig.run(SECOND + SECOND / 2);
    rig.changed(NodeChange::Disconnected(StoreError::disconnected("cut")));
    rig.run(SECOND - SECOND / 100);
    assert!(poll(&mut waits).is_none());
    rig.run(SECOND / 100);
    let told = poll(&mut waits);
    assert_is!(
        &told,
        Some(Err(LockError::Unavailable { source, .. })) if source.to_string() == "cut"
    );
}

#[test]
fn who_waits_for_an_answer_that_does_not_come_is_told_when_patience_ends() {
    let mut rig = Rig::patient(1);
    let mut waits = rig.enter(&Rig::want());
    rig.run(SECOND - SECOND / 100);
    assert!(poll(&mut waits).is_none());
    rig.run(SECOND / 100);
    let told = poll(&mut waits);
    assert_is!(
        &told,
        Some(Err(LockError::Unavailable { source, .. })) if source.to_string().contains("in time")
    );
}

#[test]
fn who_did_not_look_in_time_reads_what_has_come_before_it_gives_up() {
    for answers in [true, false] {
        let mut rig = Rig::new();
        let mut tries = rig.enter(&Rig::tries());
        let tried = rig.next();
        let mut waits = rig.enter(&Rig::patience(Patience::Queue(Some(SECOND / 2))));
        let asked = rig.next();
        // The machine was suspended.
        rig.pass(60 * SECOND);
        assert!(poll(&mut tries).is_none() && poll(&mut waits).is_none());
        if answers {
            rig.answer(tried, Reply::Busy { holder: None });
            rig.answer(asked, queued());
            rig.pass(SECOND / 50);
        } else {
            rig.pass(SECOND);
        }
        for waiter in [&mut tries, &mut waits] {
            let told = poll(waiter).expect("an answer").map(drop).unwrap_err();
            assert_eq!(told.is_timeout(), answers, "{told:?}");
        }
    }
}

#[test]
fn a_tenth_of_a_second_late_is_in_time() {
    for late in [Duration::ZERO, Duration::from_nanos(1)] {
        let mut rig = Rig::new();
        let mut tries = rig.enter(&Rig::tries());
        rig.pass(SECOND + SECOND / 10 + late);
        assert_eq!(poll(&mut tries).is_none(), !late.is_zero());
    }
}

#[test]
fn a_machine_that_sleeps_again_is_believed_again() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        let mut tries = rig.enter(&Rig::tries());
        let tried = rig.next();
        rig.pass(60 * SECOND);
        assert!(poll(&mut tries).is_none());
        rig.answer(tried, Reply::Busy { holder: None });
        assert!(poll(&mut tries).is_some());
    }
}

#[test]
fn who_never_looks_in_time_gives_up_all_the_same() {
    let mut rig = Rig::new();
    let mut tries = rig.enter(&Rig::tries());
    rig.pass(2 * SECOND);
    assert!(poll(&mut tries).is_none());
    rig.pass(2 * SECOND);
    assert!(poll(&mut tries).is_some());
}

#[test]
fn who_refreshes_is_told_when_no_answer_comes() {
    let mut rig = Rig::patient(1);
    let hold = rig.take(&Rig::want());
    let refreshed = hold.refresh(5 * SECOND).unwrap();
    let touch = rig.next();
    assert!(matches!(touch.op, Op::Touch { .. }), "{touch:?}");
    rig.pass(SECOND / 2);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(refreshed.poll(&mut cx).is_pending());
    rig.pass(SECOND / 2);
    let told = refreshed.poll(&mut cx);
    assert_is!(told, Poll::Ready(Err(LockError::Unavailable { .. })));
    assert!(hold.is_valid(), "by its own clock");
}

#[test]
fn a_refresh_has_time_for_its_answer_after_the_machine_was_suspended() {
    for answers in [true, false] {
        let mut rig = Rig::patient(1);
        let hold = rig.take(&Rig::want());
        let refreshed = hold.refresh(5 * SECOND).unwrap();
        let touch = rig.next();
        rig.pass(3 * SECOND);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(refreshed.poll(&mut cx).is_pending());
        if answers {
            rig.answer(touch, granted());
        } else {
            rig.pass(SECOND);
        }
        match refreshed.poll(&mut cx) {
            Poll::Ready(Ok(_)) => assert!(answers),
            Poll::Ready(Err(LockError::Unavailable { .. })) => assert!(!answers),
            told => panic!("{told:?}"),
        }
        assert!(hold.is_valid());
    }
}

/// A request for a semaphore with one permit.
fn single(block: Option<Duration>) -> Want {
    Want {
        share: Share::permits(1, 1),
        patience: Patience::Queue(block),
        ..Rig::want()
    }
}

#[test]
fn who_asks_just_before_the_end_of_block_has_a_second_for_the_answer() {
    let moment = Duration::from_millis(10);
    for answered in [true, false] {
        let mut rig = Rig::new();
        let mut early = rig.enter(&single(Some(5 * SECOND)));
        rig.answer(rig.next(), queued());
        rig.pass(moment);
        let mut late = rig.enter(&single(Some(5 * SECOND)));
        rig.run(5 * SECOND - moment);
        assert!(matches!(
            poll(&mut early),
            Some(Err(LockError::Timeout { .. }))
        ));
        let is_first = |op: &Op| matches!(op, Op::Acquire { lease, .. } if lease.counter == 1);
        lock(&rig.wire.0).retain(|request| is_first(&request.op));
        rig.run(moment);
        assert!(poll(&mut late).is_none(), "nobody knows yet who holds");
        if answered {
            rig.answer(rig.next(), queued());
        }
        rig.run(SECOND);
        match poll(&mut late) {
            Some(Err(LockError::Timeout { .. })) => assert!(answered),
            Some(Err(LockError::Unavailable { .. })) => assert!(!answered),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn who_is_next_has_no_more_patience_with_a_silent_store_than_who_was_before() {
    let mut rig = Rig::patient(2);
    let began = rig.now;
    let mut early = rig.enter(&single(None));
    rig.pass(Duration::from_millis(10));
    let mut late = rig.enter(&single(None));
    for waiting in [&mut early, &mut late] {
        while poll(waiting).is_none() {
            rig.pass(Duration::from_millis(10));
        }
    }
    assert!(began.until(rig.now) < 3 * SECOND);
}
