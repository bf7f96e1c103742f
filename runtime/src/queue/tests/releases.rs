//! Releases that meet what is not ours.

use super::{Rig, SECOND, lock};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::store::{Answer, Events, Op, Reply, Request};

fn foreign(rig: &Rig, request: Request) {
    rig.member.answered(Answer {
        request,
        result: Err(StoreError::new(StoreErrorKind::Foreign, "FOREIGN")),
    });
}

#[test]
fn a_release_beside_a_foreign_key_is_tried_until_its_lease_has_ended() {
    let mut rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let unlocked = hold.local().unlock(&hold);
    let release = rig.next();
    let Op::Release { ticket, .. } = release.op else {
        panic!("{release:?}");
    };
    foreign(&rig, release);
    let told = unlocked.blocking_wait();
    assert!(
        matches!(told, Err(LockError::ForeignKey { .. })),
        "{told:?}"
    );
    // The key goes away: the next try ends the hold.
    rig.pass(SECOND);
    let release = rig.next();
    assert!(matches!(release.op, Op::Release { ticket: again, .. } if again == ticket));
    rig.answer(release, Reply::Released { free: 1 });
    rig.pass(20 * SECOND);
    assert!(lock(&rig.wire.0).is_empty());

    // It stays: nothing is left to end when the lease is over.
    let hold = rig.take(&Rig::want());
    hold.local().release(&hold);
    for _ in 0..10 {
        foreign(&rig, rig.next());
        rig.pass(SECOND);
    }
    foreign(&rig, rig.next());
    rig.pass(20 * SECOND);
    assert!(lock(&rig.wire.0).is_empty());
}

#[test]
fn a_shutdown_does_not_wait_for_a_foreign_key_to_go() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    hold.local().release(&hold);
    rig.member.start_closing();
    foreign(&rig, rig.next());
    assert!(hold.local().is_done());
}
