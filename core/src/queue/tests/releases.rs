//! Requests that end a hold or a part of it: releases (also of foreign data), handoffs and downgrades.

use super::{Rig, SECOND, grant, granted, poll, queued};
use crate::base::clock::Instant;
use crate::base::clock::by_hand;
use crate::base::error::LockError;
use crate::store::{Events as _, Op, Reply, Share};
use auto_mutex_protocol::StoreErrorKind;

#[test]
fn a_release_beside_a_foreign_key_is_tried_until_its_lease_has_ended() {
    let mut rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let unlocked = hold.unlock();
    let release = rig.next();
    let Op::Release { ticket, .. } = release.op else {
        panic!("{release:?}");
    };
    rig.fail(release, StoreErrorKind::Foreign);
    let told = unlocked.blocking_wait();
    assert_is!(told, Err(LockError::ForeignKey { .. }));
    // The foreign key disappears, and the next attempt ends the hold.
    rig.pass(SECOND);
    let release = rig.next();
    assert!(matches!(release.op, Op::Release { ticket: again, .. } if again == ticket));
    rig.answer(release, Reply::Released { free: 1 });
    rig.pass(20 * SECOND);
    assert!(rig.is_silent());

    // If the foreign key stays, attempts stop at the end of the lease.
    let hold = rig.take(&Rig::want());
    hold.release(false);
    for _ in 0..10 {
        rig.fail(rig.next(), StoreErrorKind::Foreign);
        rig.pass(SECOND);
    }
    rig.fail(rig.next(), StoreErrorKind::Foreign);
    rig.pass(20 * SECOND);
    assert!(rig.is_silent());
}

#[test]
fn a_shutdown_does_not_wait_for_a_foreign_key_to_go() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    hold.release(false);
    rig.member.begin_shutdown();
    rig.fail(rig.next(), StoreErrorKind::Foreign);
    assert!(hold.queue.lock().state.is_over(Instant::START));
}

#[test]
fn what_is_over_cannot_be_handed_over() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    assert!(hold.export());
    assert!(!hold.is_valid() && !hold.is_lost());
    assert!(!hold.export(), "it is gone already");
    assert_is!(rig.next().op, Op::Touch { .. });
    assert!(rig.is_silent());
    let hold = rig.take(&Rig::want());
    by_hand::set(rig.now.after(60 * SECOND));
    assert!(!hold.export(), "it is lost");
}

/// Until it is claimed, a grant by message lasts for two seconds only.
#[test]
fn what_is_handed_over_before_it_was_claimed_is_claimed_by_that() {
    let rig = Rig::new();
    let mut waits = rig.enter(&Rig::want());
    let (asked, ticket, _) = rig.asked();
    rig.answer(asked, queued());
    rig.member.told(&rig.name, grant(ticket, 1, 2 * SECOND));
    let hold = poll(&mut waits).expect("granted").expect("granted");
    assert!(rig.is_silent(), "it is not claimed yet");
    assert!(hold.export());
    let claim = rig.next().op;
    assert_is!(claim, Op::Touch { ref lease, .. } if lease.ticket == ticket && lease.hold == 10 * SECOND);
    assert!(rig.is_silent());
}

#[test]
fn the_store_is_told_what_is_given_back() {
    let rig = Rig::new();
    let want = Rig::share(Share::of(3, 5));
    let hold = rig.take(&want);
    let told = hold.downgrade(2).expect("it is held");
    let touch = rig.next();
    assert!(matches!(touch.op, Op::Touch { units: 2, .. }), "{touch:?}");
    rig.answer(touch, granted());
    told.blocking_wait().unwrap();
    hold.release(false);
    rig.answer(rig.next(), Reply::Released { free: 5 });
    assert!(hold.downgrade(1).is_none());
    assert!(hold.queue.lock().state.is_over(Instant::START));
}
