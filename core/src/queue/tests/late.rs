//! When a connection breaks, a copy of an acquire may reach the store after the release of its ticket. Only in this
//! case does the release leave a tombstone.

use super::{Rig, SECOND, granted, poll};
use crate::queue::waiter::Patience;
use crate::store::{Op, Reply, Request, Share, Ticket};

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
    let two = Rig::share(Share::of(1, 2));
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
fn an_attempt_does_too() {
    for breaks_off in [true, false] {
        let rig = Rig::new();
        let mut tries = rig.enter(&Rig::patience(Patience::Poll {
            retries: 0,
            interval: SECOND,
            block: None,
        }));
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
