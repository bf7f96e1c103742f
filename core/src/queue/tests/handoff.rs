//! Handoffs within a process: who receives them, their budget of number and time, and the requests they cause.

use std::time::Duration;

use super::{Rig, SECOND, TOKEN, granted, lock, poll, queued, somebody};
use crate::base::clock::by_hand;
use crate::config::Config;
use crate::lease::Tenure;
use crate::queue::Want;
use crate::store::{Lease, Op, RandomId, Reply, Share};

const MILLI: Duration = Duration::from_millis(1);

impl Rig {
    /// Takes the next request if it is a renewal.
    fn renewal(&self) -> Option<crate::store::Request> {
        let mut wire = lock(&self.wire.0);
        wire.pop_front_if(|request| matches!(request.op, Op::Touch { .. }))
    }

    /// Answers the next request as a release, and returns whether it was one.
    fn released(&self) -> bool {
        let request = self.next();
        let released = matches!(request.op, Op::Release { .. });
        self.answer(request, Reply::Released { free: 1 });
        released
    }
}

#[test]
fn the_next_waiter_gets_the_ticket_without_a_word_to_the_store() {
    let rig = Rig::new();
    let first = rig.take(&Rig::want());
    let mut second = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    let mut third = rig.enter(&Rig::want());
    first.release(false);
    let second = poll(&mut second).expect("handed on").unwrap();
    assert!(poll(&mut third).is_none(), "one after another");
    assert_eq!(second.grant.token, TOKEN * 1024 + 1);
    assert_eq!(second.grant.ticket, first.grant.ticket);
    assert!(second.is_valid() && !first.is_valid());
    assert!(rig.is_silent());
    // A second release by the former holder does not end the new holder's hold.
    first.release(false);
    assert!(second.is_valid());
    second.release(false);
    let third = poll(&mut third).expect("handed on").unwrap();
    assert!(rig.is_silent());
    // No waiter is left, so the ticket without one is released too. Otherwise the store would grant it.
    third.release(false);
    assert!(rig.released() && rig.released());
    assert!(rig.is_silent());
}

#[test]
fn nothing_is_handed_on_between_a_mutex_and_a_semaphore_of_the_same_name() {
    let mutex = Rig::want();
    let mut permit = Rig::want();
    permit.share = Share::permits(1, 1);
    for (from, to) in [(&mutex, &permit), (&permit, &mutex)] {
        let rig = Rig::new();
        let first = rig.take(from);
        let mut second = rig.enter(to);
        rig.next();
        first.release(false);
        assert!(poll(&mut second).is_none(), "the store must refuse it");
        assert!(rig.released());
    }
}

#[test]
fn the_budget_has_an_end() {
    let mut rig = Rig::new();
    let first = rig.take(&Rig::want());
    let mut second = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    rig.pass(4 * MILLI);
    first.release(false);
    let second = poll(&mut second).expect("handed on").unwrap();
    let mut third = rig.enter(&Rig::want());
    rig.pass(MILLI);
    second.release(false);
    assert!(poll(&mut third).is_none(), "others have their turn");
    assert!(rig.released());
}

#[test]
fn each_holder_has_an_expire_of_its_own() {
    let mut rig = Rig::new();
    let brief = Rig::expires(SECOND);
    let first = rig.take(&brief);
    let mut second = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    first.release(false);
    let second = poll(&mut second).expect("handed on").unwrap();
    // The first holder asked for a lease as short as its `expire`, so the second holder has to renew it.
    rig.pass(20 * MILLI);
    let renewal = rig.next();
    assert_is!(renewal.op, Op::Touch { lease: Lease { hold, .. }, .. } if hold == 10 * SECOND);
    rig.answer(renewal, granted());
    rig.pass(2 * SECOND);
    assert!(second.is_valid());
}

#[test]
fn what_must_be_said_to_the_store_is_said() {
    // A ticket is not handed off if its holder asked for an `at_least` or the waiter asks for other units. It has to be
    // released in the store instead.
    let rig = Rig::new();
    let keep = Want {
        tenure: Tenure {
            expire: None,
            at_least: Some(SECOND),
            ..Tenure::default()
        },
        ..Rig::want()
    };
    let parked = rig.take(&keep);
    let mut next = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    parked.release(false);
    assert!(poll(&mut next).is_none());
    assert!(rig.released());
    drop(next);
    assert!(rig.released());

    let reader = Rig::share(Share::of(1, 100));
    let writer = Rig::share(Share::of(100, 100));
    let read = rig.take(&reader);
    let mut write = rig.enter(&writer);
    rig.answer(rig.next(), queued());
    read.release(false);
    assert!(poll(&mut write).is_none());
    assert!(rig.released());
    drop(write);
    assert!(rig.released());
}

#[test]
fn an_unlock_hands_on_and_says_at_once_that_the_lock_was_held() {
    let rig = Rig::new();
    let first = rig.take(&Rig::want());
    let mut second = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    let unlocked = first.unlock();
    let second = poll(&mut second).expect("handed on").unwrap();
    assert_eq!(second.grant.token, TOKEN * 1024 + 1);
    assert_eq!(unlocked.blocking_wait().unwrap(), Some(0));
    assert!(rig.is_silent());
    // A second unlock of the same hold reports that the hold is over.
    assert_eq!(first.unlock().blocking_wait().unwrap(), None);
    assert!(second.is_valid());
    // No waiter is left, so the unlock waits for the store's answer.
    let unlocked = second.unlock();
    let free = || Reply::Released { free: 1 };
    for _ in 0..2 {
        rig.answer(rig.next(), free());
    }
    assert_eq!(unlocked.blocking_wait().unwrap(), Some(1));
}

#[test]
fn a_refresh_for_less_leaves_what_is_handed_on_its_lease() {
    let mut rig = Rig::new();
    let first = rig.take(&Rig::want());
    let mut second = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    let confirmed = first.refresh(SECOND);
    let renewal = rig.next();
    let Op::Touch {
        lease: Lease { hold: kept, .. },
        ..
    } = renewal.op
    else {
        panic!("{renewal:?}");
    };
    rig.answer(renewal, granted());
    assert!(confirmed.is_some_and(|confirmed| confirmed.blocking_wait().is_ok()));
    first.release(false);
    let second = poll(&mut second).expect("handed on").unwrap();
    rig.pass(kept);
    while let Some(renewal) = rig.renewal() {
        rig.lose(renewal);
    }
    assert!(
        !second.is_valid(),
        "the store has ended the lease after {kept:?}"
    );
}

#[test]
fn what_was_adopted_is_handed_on_like_any_other() {
    let rig = Rig::new();
    let adopt = |local: &std::sync::Arc<crate::queue::LockQueue>| {
        local.adopt(crate::store::Ticket::random(), &Rig::want(), &somebody())
    };
    let mut adopted = Box::pin(rig.member.with_queue(&rig.name, adopt).unwrap());
    rig.answer(rig.next(), granted());
    let adopted = poll(&mut adopted).expect("adopted").unwrap();
    let mut next = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    adopted.release(false);
    let next = poll(&mut next).expect("its turn has come").unwrap();
    assert_eq!(next.grant.ticket, adopted.grant.ticket);
    assert!(rig.is_silent());
}

#[test]
fn what_is_almost_over_is_not_handed_on() {
    for left in [50 * MILLI, 50 * MILLI + Duration::from_nanos(1)] {
        let rig = Rig::new();
        let brief = Rig::expires(55 * MILLI);
        let first = rig.take(&brief);
        let mut second = rig.enter(&Rig::want());
        rig.answer(rig.next(), queued());
        by_hand::set(rig.now.after(rig.now.until(first.valid()) - left));
        first.release(false);
        assert_eq!(poll(&mut second).is_some(), left > 50 * MILLI);
    }
}

#[test]
fn the_ticket_that_nobody_wants_leaves_before_the_one_that_holds() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let gives_up = rig.enter(&Rig::want());
    let (asked, waiting, _) = rig.asked();
    rig.answer(asked, queued());
    drop(gives_up);
    assert!(rig.is_silent(), "it keeps the place of this process");
    hold.release(false);
    for ticket in [waiting, hold.grant.ticket] {
        let release = rig.next();
        assert!(
            matches!(release.op, Op::Release { ticket: it, .. } if it == ticket),
            "or the store would grant it: {release:?}"
        );
    }
}

#[test]
fn where_nothing_is_handed_on_no_place_is_kept() {
    let config = Config::new("memory://").unwrap().local_handoff(0, "0s");
    let rig = Rig::with(config);
    let _hold = rig.take(&Rig::want());
    let gives_up = rig.enter(&Rig::want());
    rig.answer(rig.next(), queued());
    drop(gives_up);
    assert!(rig.released());
}
