//! When a connection breaks, a copy of an acquire may reach the store after the release of its ticket. Only in this
//! case does the release leave a tombstone.

use super::{Rig, SECOND, grant, granted, poll, queued};
use crate::queue::Want;
use crate::queue::waiter::Patience;
use crate::store::{Events, Op, Reply, Request, Share, Ticket};

/// Breaks the connection, and reconnects the member.
fn breaks(rig: &Rig, unanswered: Request) {
    rig.lose(unanswered);
    rig.reconnect();
}

#[track_caller]
fn leaves(rig: &Rig, gone: Ticket, tombstone: bool) -> Request {
    let release = rig.next();
    match release.op {
        Op::Release { ticket, tomb, .. } => assert_eq!((ticket, tomb), (gone, tombstone)),
        _ => panic!("{release:?}"),
    }
    release
}

#[test]
fn who_asked_twice_leaves_a_tombstone_and_nobody_else() {
    let rig = Rig::new();
    let two = Want {
        share: Share::of(1, 2),
        ..Rig::want()
    };
    let (mut first, mut second) = (rig.enter(&two), rig.enter(&two));
    let (asked, before, _) = rig.asked();
    let (lost, ticket, _) = rig.asked();
    rig.answer(asked, granted());
    let early = poll(&mut first).expect("granted").unwrap();
    breaks(&rig, lost);
    // The waiter sends its acquire again, and the holder a touch.
    for _ in 0..2 {
        let again = rig.next();
        rig.answer(again, granted());
    }
    let late = poll(&mut second).expect("granted").unwrap();
    late.release(false);
    leaves(&rig, ticket, true);
    early.release(false);
    leaves(&rig, before, false);
}

#[test]
fn who_was_granted_by_message_before_the_break_does_too() {
    let rig = Rig::new();
    let mut waits = rig.enter(&Rig::want());
    let (asked, ticket, counter) = rig.asked();
    rig.member.told(&rig.name, grant(ticket, counter, SECOND));
    let hold = poll(&mut waits).expect("granted").unwrap();
    rig.lose(asked);
    hold.release(false);
    leaves(&rig, ticket, true);
}

#[test]
fn a_release_that_was_sent_before_the_break_is_sent_again_with_one() {
    let mut rig = Rig::new();
    let first = rig.enter(&Rig::want());
    let (asked, ticket, _) = rig.asked();
    drop(first);
    rig.pass(5 * SECOND);
    let release = leaves(&rig, ticket, false);
    rig.lose(asked);
    breaks(&rig, release);
    leaves(&rig, ticket, true);
}

#[test]
fn an_attempt_does_too() {
    for breaks_off in [true, false] {
        let rig = Rig::new();
        let mut tries = rig.enter(&Want {
            patience: Patience::Poll {
                retries: 0,
                interval: SECOND,
                block: None,
            },
            ..Rig::want()
        });
        let (mut asked, ticket, _) = rig.asked();
        if breaks_off {
            breaks(&rig, asked);
            let again;
            (asked, again, _) = rig.asked();
            assert_eq!(again, ticket);
        }
        rig.answer(asked, Reply::Busy { holder: None });
        assert!(poll(&mut tries).is_some_and(|tried| tried.is_err()));
        if breaks_off {
            leaves(&rig, ticket, true);
        }
        assert!(rig.is_silent());
    }
}

#[test]
fn a_waiter_that_gives_up_does_too() {
    let mut rig = Rig::new();
    let waits = rig.enter(&Rig::want());
    let (asked, ticket, _) = rig.asked();
    breaks(&rig, asked);
    rig.answer(rig.next(), queued());
    drop(waits);
    rig.pass(5 * SECOND);
    let mut gone = rig.next();
    if matches!(gone.op, Op::Touch { .. }) {
        rig.answer(gone, queued());
        gone = rig.next();
    }
    assert!(
        matches!(gone.op, Op::Release { ticket: left, tomb: true, .. } if left == ticket),
        "{gone:?}"
    );
}
