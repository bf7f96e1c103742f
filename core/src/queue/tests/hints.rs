//! The queue checks the store's messages, and asks the store when in doubt.

use std::time::Duration;

use super::{Acquire, Pin, Rig, SECOND, TOKEN, lock, poll, queued};
use crate::queue::Want;
use crate::store::{
    Cause, Closed, Events, HolderRecord, Lease, Message, NodeChange, Op, RandomId, Reply, Share,
    Ticket,
};

/// Makes a waiter in the queue, behind a holder with the token [`TOKEN`].
fn waits(rig: &Rig, want: &Want) -> (Pin<Box<Acquire>>, Ticket) {
    let waiter = rig.enter(want);
    let (asked, ticket, _) = rig.asked();
    let Reply::Queued {
        position, again, ..
    } = queued()
    else {
        unreachable!("it says so");
    };
    let holder = HolderRecord {
        token: TOKEN,
        meta: "h 1 s".into(),
    };
    rig.answer(
        asked,
        Reply::Queued {
            position,
            again,
            holder: Some(holder),
        },
    );
    (waiter, ticket)
}

/// Delivers a message saying that the store has granted the first request of the ticket.
fn tell(rig: &Rig, ticket: Ticket, token: u64, hold: Duration) {
    let message = Message::Grant {
        ticket,
        token,
        counter: 1,
        hold,
        signal: None,
    };
    rig.member.told(&rig.name, message);
}

#[track_caller]
fn is_touched(rig: &Rig, ticket: Ticket) {
    let request = rig.next();
    assert_is!(request.op, Op::Touch { lease: Lease { ticket: it, .. }, .. } if it == ticket);
}

#[test]
fn a_grant_that_no_store_would_make_is_asked_about_and_not_believed() {
    let later = TOKEN + 1;
    let last = 1 << 53;
    for (want, token, hold, believed) in [
        (Rig::want(), later, 2 * SECOND, true),
        (Rig::want(), later, 2 * SECOND + SECOND / 1000, false),
        (Rig::want(), TOKEN, SECOND, false),
        (Rig::want(), TOKEN - 1, SECOND, false),
        (Rig::want(), last - 1, SECOND, true),
        (Rig::want(), last, SECOND, false),
    ] {
        let rig = Rig::new();
        let (mut waiter, ticket) = waits(&rig, &want);
        tell(&rig, ticket, token, hold);
        let told = poll(&mut waiter);
        assert_eq!(told.is_some(), believed, "{token}, {hold:?}: {told:?}");
        if !believed {
            is_touched(&rig, ticket);
        }
        assert!(rig.is_silent());
    }
}

#[test]
fn a_grant_that_is_over_when_it_arrives_is_asked_about() {
    for late in [false, true] {
        let mut rig = Rig::new();
        let (mut waiter, ticket) = waits(&rig, &Rig::want());
        let sent = rig.now;
        let ends = sent.validity(SECOND);
        rig.pass(sent.until(ends) - Duration::from_nanos(u64::from(!late)));
        lock(&rig.wire.0).clear();
        tell(&rig, ticket, TOKEN + 1, SECOND);
        assert_eq!(poll(&mut waiter).is_none(), late);
    }
}

#[test]
fn nothing_is_believed_before_the_store_opens() {
    for (until, believed) in [(0, true), (1, false)] {
        let rig = Rig::new();
        let (mut waiter, ticket) = waits(&rig, &Rig::want());
        let closed = Closed {
            until: rig.now.after(Duration::from_nanos(until)),
            cause: Cause::Restart,
        };
        rig.changed(NodeChange::Closed(Some(closed)));
        tell(&rig, ticket, TOKEN + 1, SECOND);
        assert_eq!(poll(&mut waiter).is_some(), believed);
    }
}

#[test]
fn who_is_told_to_ask_asks_and_nobody_else() {
    let rig = Rig::new();
    let of = |units| Rig::share(Share::of(units, 2));
    let (one, first) = waits(&rig, &of(1));
    let (two, second) = waits(&rig, &of(1));
    for ticket in [second, first] {
        rig.member.told(&rig.name, Message::Ask { ticket });
        is_touched(&rig, ticket);
        assert!(rig.is_silent());
    }
    rig.member.told(
        &rig.name,
        Message::Ask {
            ticket: Ticket::random(),
        },
    );
    assert!(rig.is_silent());
    drop((one, two));
}

#[test]
fn who_comes_near_asks_sooner() {
    let mut rig = Rig::new();
    let waiter = rig.enter(&Rig::want());
    let (asked, ticket, _) = rig.asked();
    let far = Reply::Queued {
        position: 9,
        again: 5 * SECOND,
        holder: None,
    };
    rig.answer(asked, far);
    rig.member.told(&rig.name, Message::Near { ticket });
    rig.pass(Duration::from_millis(1099));
    assert!(rig.is_silent());
    rig.pass(Duration::from_millis(1));
    is_touched(&rig, ticket);
    drop(waiter);
}

#[test]
fn a_holder_asks_at_once_whether_it_was_lost() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let ticket = hold.grant.ticket;
    rig.member.told(&rig.name, Message::Lost { ticket });
    is_touched(&rig, ticket);
    // Another message before the answer to the touch changes nothing.
    rig.member.told(&rig.name, Message::Lost { ticket });
    assert!(rig.is_silent());
    assert!(hold.is_valid());
}

/// A grant that the member does not use makes it ask, but a copy does not.
#[test]
fn a_repeated_grant_is_ignored() {
    let rig = Rig::new();
    let waiter = rig.enter(&Rig::want());
    let (asked, ticket, counter) = rig.asked();
    let queued = Reply::Queued {
        position: 1,
        again: 5 * SECOND,
        holder: None,
    };
    rig.answer(asked, queued);
    let grant = |token, counter| {
        let message = Message::Grant {
            ticket,
            token,
            counter,
            hold: Duration::ZERO,
            signal: None,
        };
        rig.member.told(&rig.name, message);
    };
    grant(17, counter);
    is_touched(&rig, ticket);
    for (token, counter) in [(17, counter), (16, counter), (18, counter - 1)] {
        grant(token, counter);
        assert!(rig.is_silent(), "{token} {counter}");
    }
    grant(18, counter);
    is_touched(&rig, ticket);
    drop(waiter);
}
