//! Which tickets wait in the store, and for whom.

use super::{Rig, SECOND, TOKEN, grant, poll, queued};
use crate::base::error::LockError;
use crate::base::task::Home;
use crate::base::wait::lock;
use crate::queue::waiter::Patience;
use crate::queue::{Requester, Want};
use crate::store::{
    Cause, Closed, Events, HolderRecord, Lease, NodeChange, Op, Owner, Reply, Share,
};

fn owned(owner: &'static str) -> Want {
    Want {
        share: Share {
            owner: owner.into(),
            ..Share::of(1, 1)
        },
        owner: Some(Owner::Anywhere(owner.into())),
        ..Rig::want()
    }
}

#[test]
fn an_owner_that_holds_elsewhere_enters_past_who_waits_here() {
    let rig = Rig::new();
    let mut first = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    let mut joins = rig.enter(&owned("o"));
    let mut too = rig.enter(&owned("o"));
    let request = rig.next();
    assert!(
        matches!(&request.op, Op::Acquire { share, .. } if &*share.owner == "o"),
        "{request:?}"
    );
    rig.answer(request, super::granted());
    let hold = poll(&mut joins).expect("let in").unwrap();
    assert!(poll(&mut too).is_some_and(|too| too.is_ok()));
    assert!(poll(&mut first).is_none());
    assert!(hold.is_valid());
}

#[test]
fn who_joins_its_owner_believes_the_message() {
    let rig = Rig::new();
    let mut joins = rig.enter(&owned("o"));
    let (asked, ticket, counter) = rig.asked();
    let holder = HolderRecord {
        token: TOKEN,
        meta: "h 1 s".into(),
    };
    let reply = Reply::Queued {
        position: 1,
        again: SECOND,
        holder: Some(holder),
    };
    rig.answer(asked, reply);
    rig.member.told(&rig.name, grant(ticket, counter, SECOND));
    assert!(poll(&mut joins).is_some_and(|joined| joined.is_ok()));
}

#[test]
fn a_message_of_a_node_that_grants_nothing_is_not_believed() {
    let rig = Rig::new();
    let mut waits = rig.enter(&Rig::want());
    let (asked, ticket, counter) = rig.asked();
    rig.answer(asked, queued());
    let closed = Closed {
        until: rig.now.after(SECOND),
        cause: Cause::Failover,
    };
    rig.changed(NodeChange::Closed(Some(closed)));
    let grants = || grant(ticket, counter, SECOND);
    rig.member.told(&rig.name, grants());
    assert!(poll(&mut waits).is_none());
    let touch = rig.next();
    assert!(matches!(touch.op, Op::Touch { .. }), "{touch:?}");
    // Once the node grants again, the queue accepts the same message.
    rig.changed(NodeChange::Closed(None));
    rig.member.told(&rig.name, grants());
    assert!(poll(&mut waits).is_some_and(|granted| granted.is_ok()));
}

#[test]
fn who_relies_on_a_place_that_the_store_has_lost_is_woken() {
    for relies in [true, false] {
        let rig = Rig::new();
        let mut waits = rig.enter(&Want {
            share: Share::NOTIFICATION,
            relies,
            ..Rig::want()
        });
        rig.answer(rig.next(), queued());
        rig.reconnect();
        rig.answer(rig.next(), Reply::Gone);
        match poll(&mut waits) {
            Some(Err(LockError::Unavailable { .. })) => assert!(relies),
            None => assert!(!relies, "it may have been notified meanwhile"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn of_two_places_the_one_that_is_known_is_kept() {
    let rig = Rig::new();
    let want = Want {
        share: Share::NOTIFICATION,
        relies: true,
        ..Rig::want()
    };
    let _first = rig.enter(&want);
    let second = rig.enter(&want);
    let (unanswered, answered) = (rig.next(), rig.next());
    rig.answer(answered, queued());
    drop(second);
    let left = rig.next();
    let Op::Acquire {
        lease: Lease { ticket: lost, .. },
        ..
    } = unanswered.op
    else {
        panic!("{unanswered:?}");
    };
    assert!(matches!(left.op, Op::Release { ticket, .. } if ticket == lost));
}

#[test]
fn a_thread_does_not_wait_behind_who_waits_for_what_its_tasks_hold() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let rig = Rig::new();
        let share = |units| Share::of(units, 100);
        let here = Want {
            share: share(1),
            by: Requester {
                blocking: true,
                home: Some(Home::Thread(std::thread::current().id())),
                ..Requester::default()
            },
            ..Rig::want()
        };
        let enter = || {
            let entered = rig.member.with_queue(&rig.name, |local| local.enter(&here));
            entered.unwrap()
        };
        let _held = rig.take(&here);
        drop(enter().expect("another reader fits"));
        let writer = Want {
            share: share(100),
            ..Rig::want()
        };
        let _elsewhere = rig.enter(&writer);
        assert!(matches!(enter(), Err(LockError::Deadlock { .. })));
    });
}

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
    assert!(
        matches!(&asked, [Op::Release { .. }, Op::Acquire { share, .. }] if share.units == 4),
        "{asked:?}"
    );
}

#[test]
fn who_waits_in_vain_for_a_store_that_does_not_serve_is_told_so() {
    let mut rig = Rig::new();
    let block = Some(SECOND * 2);
    let waits = Want {
        patience: Patience::Queue(block),
        ..Rig::want()
    };
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
