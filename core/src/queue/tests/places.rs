//! Which tickets are kept, requested again and claimed, and when.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use super::{Acquire, Pin, Rig, SECOND, TOKEN, grant, granted, lock, poll, queued, somebody};
use crate::queue::Want;
use crate::store::RW_LOCK;
use crate::store::{Events, Lease, Message, Op, Reply, Request, Share, Ticket};

fn of(units: u32, capacity: u32) -> Want {
    Rig::share(Share::of(units, capacity))
}

fn permits(units: u32, permits: u32) -> Want {
    Rig::share(Share::permits(units, permits))
}

fn taking() -> Want {
    Want {
        share: Share::NOTIFICATION,
        ..Rig::want()
    }
}

/// Lets a caller enter the queue, and takes its request.
fn asks(rig: &Rig, want: &Want) -> (Pin<Box<Acquire>>, Request, Ticket) {
    let waiter = rig.enter(want);
    let (asked, ticket, _) = rig.asked();
    (waiter, asked, ticket)
}

#[track_caller]
fn left(rig: &Rig) -> Ticket {
    let request = rig.next();
    match request.op {
        Op::Release { ticket, .. } => ticket,
        _ => panic!("{request:?}"),
    }
}

#[test]
fn the_last_place_is_given_up_unless_an_earlier_one_is_not_known_of() {
    for (first_known, second_known) in [(true, true), (false, false), (true, false), (false, true)]
    {
        let rig = Rig::new();
        let (waits, asked, first) = asks(&rig, &of(1, 2));
        let (gives_up, too, second) = asks(&rig, &of(1, 2));
        for (request, known) in [(asked, first_known), (too, second_known)] {
            if known {
                rig.answer(request, queued());
            }
        }
        drop(gives_up);
        let worse = if second_known && !first_known {
            first
        } else {
            second
        };
        assert_eq!(left(&rig), worse, "{first_known}, {second_known}");
        drop(waits);
    }
}

#[test]
fn a_place_beside_others_goes_to_nobody_who_came_later() {
    // The store may have granted the old ticket before the second caller asked, with a smaller token than later grants
    // have. Only a ticket that excludes all others may serve the second caller.
    for (want, passes) in [
        (of(1, 2), false),
        (permits(2, 2), false),
        (of(1, RW_LOCK), false),
        (of(1, 1), true),
    ] {
        let mut rig = Rig::new();
        let (gives_up, asked, first) = asks(&rig, &want);
        rig.answer(asked, queued());
        rig.pass(Duration::from_millis(1));
        let mut waits = rig.enter(&want);
        drop(gives_up);
        let sent = std::mem::take(&mut *lock(&rig.wire.0));
        let leaves =
            |request: &Request| matches!(request.op, Op::Release { ticket, .. } if ticket == first);
        assert_eq!(sent.iter().any(leaves), !passes, "{want:?}");
        rig.member.told(&rig.name, grant(first, 1, SECOND));
        assert_eq!(poll(&mut waits).is_some(), passes, "{want:?}");
    }
}

#[test]
fn no_ticket_is_kept_for_readers_to_come() {
    for (share, kept) in [(of(1, RW_LOCK), false), (of(RW_LOCK, RW_LOCK), true)] {
        let rig = Rig::new();
        let writes = rig.take(&of(RW_LOCK, RW_LOCK));
        let (gives_up, asked, _) = asks(&rig, &share);
        rig.answer(asked, queued());
        drop(gives_up);
        assert_eq!(rig.is_silent(), kept, "{share:?}");
        drop(writes);
    }
}

#[test]
fn each_gets_what_its_own_ticket_was_granted_in_whatever_order() {
    let mut rig = Rig::new();
    let (mut early, asked, first) = asks(&rig, &of(1, 2));
    rig.answer(asked, queued());
    rig.pass(Duration::from_millis(1));
    let (mut late, asked, _) = asks(&rig, &of(1, 2));
    // The message with the first ticket's grant is still in flight.
    let token = TOKEN + 1;
    rig.answer(
        asked,
        Reply::Granted {
            token,
            signal: None,
        },
    );
    assert!(poll(&mut early).is_none());
    let hold = poll(&mut late).expect("granted").unwrap();
    assert_eq!(hold.grant.token, token * 1024);
    rig.member.told(&rig.name, grant(first, 1, SECOND));
    let hold = poll(&mut early).expect("granted").unwrap();
    assert_eq!(hold.grant.token, TOKEN * 1024);
}

#[test]
fn a_crowd_has_few_tickets_but_each_who_waits_for_a_signal_has_one() {
    for (want, tickets) in [(of(1, 1000), 64), (taking(), 100)] {
        let rig = Rig::new();
        let crowd: Vec<_> = (0..100).map(|_| rig.enter(&want)).collect();
        assert_eq!(lock(&rig.wire.0).len(), tickets);
        drop(crowd);
    }
}

#[test]
fn what_was_granted_by_message_is_claimed_within_a_quarter_of_its_time() {
    for (hold, claimed) in [(SECOND, 20), (Duration::from_millis(40), 10)] {
        let mut rig = Rig::new();
        let (mut waits, asked, ticket) = asks(&rig, &Rig::want());
        rig.answer(asked, queued());
        rig.member.told(&rig.name, grant(ticket, 1, hold));
        let held = poll(&mut waits).expect("granted").unwrap();
        rig.pass(Duration::from_millis(claimed / 2));
        assert!(rig.is_silent(), "not yet");
        rig.pass(Duration::from_millis(claimed / 2));
        assert!(
            matches!(rig.next().op, Op::Touch { lease: Lease { ticket: it, .. }, .. } if it == ticket)
        );
        drop(held);
    }
}

/// Whether the waiter knows that it has a place in the store.
fn is_registered(waiter: &Acquire) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    pin!(waiter.registered()).poll(&mut cx).is_ready()
}

#[test]
fn whoever_waits_for_a_signal_learns_that_the_store_has_his_place() {
    let rig = Rig::new();
    let (first, asked, _) = asks(&rig, &taking());
    let (second, too, _) = asks(&rig, &taking());
    assert!(!is_registered(&first) && !is_registered(&second));
    rig.answer(asked, queued());
    assert!(is_registered(&first) && !is_registered(&second));
    rig.answer(too, queued());
    assert!(is_registered(&second));
}

#[test]
fn whoever_waits_for_a_signal_has_a_queue_of_his_own() {
    let rig = Rig::new();
    let (early, asked, first) = asks(&rig, &taking());
    rig.answer(asked, queued());
    let (mut late, asked, second) = asks(&rig, &taking());
    rig.answer(asked, queued());
    let waiting = |rig: &Rig, ticket| {
        let queue = rig.member.queue_of(&rig.name, ticket)?;
        Some(queue.lock().state.load().waiting)
    };
    assert_eq!(waiting(&rig, first), Some(1), "no answer looks at both");
    assert_eq!(waiting(&rig, second), Some(1));
    assert_eq!(rig.member.load().waiting, 2);
    drop(early);
    let release = rig.next();
    assert_eq!(release.op.ticket(), Some(first));
    rig.answer(release, Reply::Released { free: 0 });
    assert_eq!(waiting(&rig, first), None, "nothing of it is left");
    assert_eq!(waiting(&rig, second), Some(1));
    rig.member.start_draining();
    assert!(poll(&mut late).expect("told").is_err());
    assert!(
        rig.member
            .enter(&rig.name, &taking(), &somebody())
            .unwrap()
            .is_err()
    );
}

#[test]
fn nothing_is_left_of_a_queue_whose_only_call_had_its_signal() {
    let mut rig = Rig::new();
    let (mut waits, asked, ticket) = asks(&rig, &taking());
    let queue = rig.member.queue_of(&rig.name, ticket);
    let queue = Arc::downgrade(&queue.expect("a queue"));
    rig.answer(asked, granted());
    let hold = poll(&mut waits).expect("granted").unwrap();
    hold.release(false);
    drop((waits, hold));
    rig.answer(rig.next(), Reply::Released { free: 0 });
    // Its timer has it until then.
    rig.run(10 * SECOND);
    assert!(queue.upgrade().is_none());
}

#[test]
fn a_gone_place_is_asked_for_anew() {
    let rig = Rig::new();
    let (waits, asked, place) = asks(&rig, &Rig::want());
    rig.answer(asked, queued());
    rig.reconnect();
    rig.answer(rig.next(), Reply::Gone);
    match rig.next().op {
        Op::Acquire {
            lease: Lease { ticket, .. },
            ..
        } => assert_ne!(ticket, place),
        other => panic!("{other:?}"),
    }
    drop(waits);
}

#[test]
fn the_one_whose_place_the_store_has_lost_is_told() {
    let mut rig = Rig::new();
    let (mut early, asked, _) = asks(&rig, &taking());
    rig.answer(asked, queued());
    rig.pass(Duration::from_millis(1));
    let (mut late, asked, second) = asks(&rig, &taking());
    rig.answer(asked, queued());
    rig.member.told(&rig.name, Message::Ask { ticket: second });
    rig.answer(rig.next(), Reply::Gone);
    let error = poll(&mut late).expect("told").unwrap_err();
    assert!(format!("{error:?}").contains("lost the place"), "{error:?}");
    assert!(poll(&mut early).is_none() && rig.is_silent());
}

#[test]
fn only_those_are_told_that_they_have_a_place_who_have_one() {
    let mut rig = Rig::new();
    let (early, asked, _) = asks(&rig, &taking());
    rig.refuse(asked);
    rig.pass(Duration::from_millis(1));
    let (late, asked, _) = asks(&rig, &taking());
    rig.answer(asked, queued());
    assert!(!is_registered(&early) && is_registered(&late));
}
