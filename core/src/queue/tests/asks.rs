//! Which tickets wait in the store, and for whom.

use super::{Rig, SECOND, poll, queued};
use crate::base::wait::lock;
use crate::queue::waiter::Patience;
use crate::store::{Op, Share};

#[test]
fn a_ticket_that_suits_the_first_waiter_no_more_is_exchanged() {
    let rig = Rig::new();
    let mut want = Rig::want();
    want.share = Share::of(1, 4);
    let mut reader = rig.enter(&want);
    assert!(poll(&mut reader).is_none());
    let read = rig.next();
    rig.answer(read, queued());
    want.share = Share::of(4, 4);
    let mut writer = rig.enter(&want);
    assert!(poll(&mut writer).is_none());
    drop(reader);
    let asked = [rig.next().op, rig.next().op];
    assert_is!(&asked, [Op::Release { .. }, Op::Acquire { share, .. }] if share.units == 4);
}

#[test]
fn who_waits_in_vain_for_a_store_that_does_not_serve_is_told_so() {
    let mut rig = Rig::new();
    let block = Some(SECOND * 2);
    let waits = Rig::patience(Patience::Queue(block));
    let mut waiting = rig.enter(&waits);
    rig.answer(rig.next(), queued());
    // The waiter touches its place, but by then too few servers are left.
    rig.pass(SECOND);
    rig.refuse(rig.next());
    rig.pass(SECOND * 2);
    let error = poll(&mut waiting).expect("it is over").unwrap_err();
    assert!(format!("{error:?}").contains("4 of 5"), "{error:?}");
    // A caller that does not wait in the store gets the same error.
    let tries = Rig::tries();
    lock(&rig.wire.0).clear();
    let mut trying = rig.enter(&tries);
    rig.refuse(rig.next());
    rig.run(SECOND);
    let error = poll(&mut trying).expect("it is over").unwrap_err();
    assert!(format!("{error:?}").contains("4 of 5"), "{error:?}");
}
