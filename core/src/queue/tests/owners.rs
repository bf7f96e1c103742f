//! A lock held for an owner can be re-entered by the same owner only.

use std::sync::Arc;

use super::{Rig, SECOND, grant, granted, lock, poll, queued, somebody};
use crate::base::error::LockError;
use crate::queue::{Patience, Want};
use crate::store::{Events, Op, Reply};

fn owned(name: &str) -> Want {
    Want {
        owner: Some(name.into()),
        ..Rig::want()
    }
}

#[test]
fn the_same_owner_enters_what_it_holds_and_another_one_waits() {
    let rig = Rig::new();
    let hold = rig.take(&owned("a"));
    let mut again = rig.enter(&owned("a"));
    let shared = poll(&mut again).expect("at once").unwrap();
    assert!(Arc::ptr_eq(&hold, &shared));
    assert!(hold.has_other_guards());
    for other in [owned("b"), Rig::want()] {
        assert!(poll(&mut rig.enter(&other)).is_none());
    }
    let local = hold.queue.clone();
    assert!(local.held_by("a").is_some());
    assert!(local.held_by("b").is_none());
    // A hold that is over belongs to no owner.
    assert!(!hold.remove_guard() && hold.remove_guard());
    hold.release(false);
    assert!(local.held_by("a").is_none());
}

#[test]
fn what_an_owner_tried_for_and_got_is_not_given_back() {
    let rig = Rig::new();
    let mut tries = rig.enter(&Want {
        patience: Patience::NONE,
        ..owned("a")
    });
    rig.answer(rig.next(), granted());
    let hold = poll(&mut tries).expect("answered").unwrap();
    assert!(hold.is_valid() && !hold.has_other_guards());
    assert!(rig.is_silent(), "it is held: nothing leaves the store");
}

#[test]
fn a_grant_serves_all_that_wait_for_their_owner() {
    let rig = Rig::new();
    let mut first = rig.enter(&owned("a"));
    let (asked, ticket, _) = rig.asked();
    rig.answer(asked, queued());
    let mut second = rig.enter(&owned("a"));
    let mut other = rig.enter(&owned("b"));
    let mut tries = rig.enter(&Want {
        patience: Patience::NONE,
        ..owned("a")
    });
    let (_, tried, _) = rig.asked();
    rig.member.told(&rig.name, grant(ticket, 1, SECOND));
    let holds = [&mut first, &mut second, &mut tries].map(|waits| {
        let told = poll(waits).expect("all of them");
        told.unwrap()
    });
    assert!(Arc::ptr_eq(&holds[0], &holds[1]) && Arc::ptr_eq(&holds[0], &holds[2]));
    assert!(poll(&mut other).is_none());
    // The attempt's own ticket is no longer needed.
    let mut left = lock(&rig.wire.0);
    assert!(
        left.iter()
            .any(|request| matches!(request.op, Op::Release { ticket, .. } if ticket == tried)),
        "{left:?}"
    );
    left.clear();
    drop(left);
    // The lock is held until the last of the three callers releases it.
    assert!(!holds[0].remove_guard() && !holds[0].remove_guard() && holds[0].remove_guard());
    holds[0].release(false);
    let next = poll(&mut other).expect("its turn has come").unwrap();
    assert!(!Arc::ptr_eq(&next, &holds[0]));
}

#[test]
fn a_pause_between_attempts_leaves_nothing_to_withdraw() {
    let rig = Rig::new();
    let mut first = rig.enter(&owned("a"));
    let (asked, ..) = rig.asked();
    let mut polls = rig.enter(&Want {
        patience: Patience::Poll {
            retries: 9,
            interval: SECOND,
            block: None,
        },
        ..owned("a")
    });
    rig.answer(rig.next(), Reply::Busy { holder: None });
    rig.answer(asked, granted());
    let held = poll(&mut first).expect("granted").unwrap();
    assert!(Arc::ptr_eq(
        &held,
        &poll(&mut polls).expect("shared").unwrap()
    ));
    assert!(rig.is_silent());
}

#[test]
fn who_still_waits_for_an_answer_when_the_engine_ends_is_told() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let unlocked = hold.unlock();
    let mut waits = rig.enter(&Rig::want());
    rig.member.abandon();
    assert!(matches!(unlocked.blocking_wait(), Err(LockError::ShutDown)));
    assert!(matches!(poll(&mut waits), Some(Err(LockError::ShutDown))));
    assert!(
        hold.queue.enter(&Rig::want(), &somebody()).is_none(),
        "out of use"
    );
}

#[test]
fn who_enters_again_and_goes_before_it_looks_leaves_the_hold_to_the_others() {
    let rig = Rig::new();
    let hold = rig.take(&owned("a"));
    drop(rig.enter(&owned("a")));
    assert!(hold.is_valid() && !hold.has_other_guards());
    assert!(rig.is_silent());
    // The last caller releases the hold.
    let again = rig.enter(&owned("a"));
    assert!(!hold.remove_guard());
    drop(again);
    assert!(!hold.is_valid());
    assert!(matches!(rig.next().op, Op::Release { .. }));
}
