//! The effect of a reply on its own waiter, and on the waiters behind it.

use std::time::Duration;

use super::{Rig, SECOND, TOKEN, grant, granted, lock, poll, queued, somebody};
use crate::base::clock::Instant;
use crate::base::error::{LockError, LockKind};
use crate::queue::Patience;
use crate::store::{
    Cause, Closed, Events, HolderRecord, Lease, NodeChange, Op, RandomId, Reply, Share,
};
use auto_mutex_protocol::StoreErrorKind;

const UNREPLICATED: StoreErrorKind = StoreErrorKind::Unreplicated {
    wanted: 2,
    reached: 1,
};

/// How soon a request is resent after a temporary failure.
const SOON: Duration = Duration::from_millis(200);

#[test]
fn what_passes_is_asked_for_again_and_nobody_is_told() {
    for (kind, known) in [
        (StoreErrorKind::Busy, false),
        (StoreErrorKind::Busy, true),
        // A waiter with a place in the queue tries again.
        (StoreErrorKind::Refused, true),
    ] {
        let mut rig = Rig::new();
        let mut waits = rig.enter(&Rig::want());
        let (asked, ticket, _) = rig.asked();
        let request = if known {
            rig.answer(asked, queued());
            rig.pass(SECOND);
            rig.next()
        } else {
            asked
        };
        rig.fail(request, kind);
        rig.run(SOON - SOON / 100);
        assert!(rig.is_silent(), "{kind:?}");
        rig.run(SOON / 100);
        let again = rig.next();
        assert!(poll(&mut waits).is_none(), "{kind:?}");
        let same = match again.op {
            Op::Acquire {
                lease: Lease { ticket: it, .. },
                ..
            }
            | Op::Touch {
                lease: Lease { ticket: it, .. },
                ..
            } => it == ticket,
            _ => false,
        };
        assert!(same, "{again:?}");
        rig.answer(again, granted());
        assert!(poll(&mut waits).expect("granted").is_ok());
    }
}

#[test]
fn what_concerns_one_ticket_is_told_to_its_waiter_and_what_concerns_the_name_to_all() {
    for (kind, all) in [
        (StoreErrorKind::Refused, false),
        (StoreErrorKind::Protocol, false),
        (StoreErrorKind::Unsupported, false),
        (UNREPLICATED, false),
        (StoreErrorKind::Forbidden, true),
        (StoreErrorKind::Foreign, true),
    ] {
        let rig = Rig::new();
        let mut first = rig.enter(&Rig::want());
        let (asked, ticket, _) = rig.asked();
        let mut second = rig.enter(&Rig::want());
        rig.fail(asked, kind);
        let told = poll(&mut first).expect("told").map(drop).unwrap_err();
        let fits = match kind {
            UNREPLICATED => matches!(told, LockError::NotReplicated { .. }),
            StoreErrorKind::Foreign => matches!(told, LockError::ForeignKey { .. }),
            StoreErrorKind::Unsupported => matches!(told, LockError::Unsupported { .. }),
            _ => matches!(told, LockError::Unavailable { .. }),
        };
        assert!(fits, "{told:?}");
        assert_eq!(poll(&mut second).is_some(), all, "{kind:?}");
        // The ticket is released, because the store may have granted or queued it. The remaining waiter asks with its
        // own ticket.
        let left = rig.next();
        assert_is!(left.op, Op::Release { ticket: it, .. } if it == ticket);
        assert_eq!(rig.is_silent(), all, "{kind:?}");
    }
}

#[test]
fn a_ticket_that_is_refused_leaves_the_places_of_others() {
    let want = Rig::share(Share::of(1, 10));
    let rig = Rig::new();
    let mut first = rig.enter(&want);
    rig.answer(rig.next(), queued());
    let mut second = rig.enter(&want);
    rig.fail(rig.next(), StoreErrorKind::Refused);
    assert!(matches!(
        poll(&mut second),
        Some(Err(LockError::Unavailable { .. }))
    ));
    assert!(poll(&mut first).is_none());
    assert!(
        matches!(rig.next().op, Op::Release { .. }),
        "the refused one"
    );
    assert!(rig.is_silent(), "nobody asks anew");
}

#[test]
fn a_grant_that_took_as_long_as_it_lasts_is_asked_about_five_times() {
    for late in [false, true] {
        let mut rig = Rig::new();
        let mut waits = rig.enter(&Rig::want());
        let mut next = rig.next();
        for tries in 1..=5 {
            let sent = rig.now;
            let valid = sent.until(sent.validity(10 * SECOND));
            rig.now = sent.after(valid - Duration::from_nanos(u64::from(!late)));
            crate::base::clock::by_hand::set(rig.now);
            rig.answer(next, granted());
            let told = poll(&mut waits);
            if !late {
                assert!(matches!(told, Some(Ok(_))), "{told:?}");
                break;
            }
            next = rig.next();
            if tries < 5 {
                assert!(told.is_none(), "{tries}: {told:?}");
                assert!(matches!(next.op, Op::Touch { .. }), "{next:?}");
            } else {
                assert_is!(
                    &told,
                    Some(Err(LockError::Unavailable { source, .. })) if source.to_string().contains("longer `expire`")
                );
                assert!(matches!(next.op, Op::Release { .. }), "{next:?}");
                break;
            }
        }
    }
}

#[test]
fn an_attempt_is_told_what_it_met() {
    let tries = Rig::tries();
    for (reply, fits) in [
        (Reply::Busy { holder: None }, "timeout"),
        (
            Reply::Mismatch {
                capacity: 7,
                takes: true,
            },
            "mismatch",
        ),
        (Reply::TooMany, "option"),
        (Reply::Released { free: 0 }, "unavailable"),
    ] {
        let rig = Rig::new();
        let mut waits = rig.enter(&tries);
        rig.answer(rig.next(), reply);
        let told = poll(&mut waits).expect("told").map(drop).unwrap_err();
        let what = match &told {
            LockError::Timeout { .. } => "timeout",
            LockError::WrongKind {
                expected: LockKind::Mutex,
                found: LockKind::Semaphore,
                ..
            } => "mismatch",
            LockError::InvalidOption { .. } => "option",
            LockError::Unavailable { .. } => "unavailable",
            _ => "something else",
        };
        assert_eq!(what, fits, "{told:?}");
    }
}

#[test]
fn an_attempt_whose_copy_was_refused_is_made_anew_and_a_first_one_is_not() {
    for (reply, copies) in [
        (Reply::Refused, 2),
        (Reply::Gone, 2),
        (Reply::Refused, 1),
        (Reply::Gone, 1),
    ] {
        let rig = Rig::new();
        let mut waits = rig.enter(&Rig::tries());
        let (mut asked, ticket, _) = rig.asked();
        if copies == 2 {
            rig.lose(asked);
            rig.reconnect();
            asked = rig.next();
        }
        rig.answer(asked, reply);
        let told = poll(&mut waits);
        if copies == 1 {
            assert_is!(told, Some(Err(LockError::Unavailable { .. })));
            continue;
        }
        assert!(told.is_none(), "{told:?}");
        let mut wire = lock(&rig.wire.0);
        let anew = wire
            .iter()
            .any(|request| matches!(request.op, Op::Acquire { lease: Lease { ticket: it, .. }, .. } if it != ticket));
        assert!(anew, "{wire:?}");
        wire.clear();
    }
}

#[test]
fn what_is_not_there_any_more_cannot_be_adopted() {
    for reply in [Reply::Gone, Reply::Refused, Reply::Released { free: 0 }] {
        let rig = Rig::new();
        let adopt = |local: &std::sync::Arc<crate::queue::LockQueue>| {
            local.adopt(crate::store::Ticket::random(), &Rig::want(), &somebody())
        };
        let mut adopted = Box::pin(rig.member.with_queue(&rig.name, adopt).unwrap());
        rig.answer(rig.next(), reply);
        let told = poll(&mut adopted);
        assert_is!(told, Some(Err(LockError::Lost { .. })));
    }
}

#[test]
fn who_tries_in_vain_is_told_who_holds_or_that_nobody_is_let_in() {
    let holder = HolderRecord {
        token: 1,
        meta: "h 1 s".into(),
    };
    for (is_closed, holder, attempts) in [
        (false, None, true),
        (false, Some(holder.clone()), true),
        (true, Some(holder), true),
        (true, None, false),
    ] {
        let rig = Rig::new();
        let closed = Closed {
            until: rig.now.after(SECOND),
            cause: Cause::Restart,
        };
        rig.changed(NodeChange::Closed(is_closed.then_some(closed)));
        let mut waits = rig.enter(&Rig::patience(Patience::Poll {
            retries: 0,
            interval: SECOND,
            block: None,
        }));
        rig.answer(rig.next(), Reply::Busy { holder });
        let told = poll(&mut waits).expect("told").map(drop).unwrap_err();
        let fits = match &told {
            LockError::TooManyAttempts { attempts: 1, .. } => attempts,
            LockError::Unavailable { source, .. } => {
                !attempts && source.to_string().contains("restarted")
            }
            _ => false,
        };
        assert!(fits, "{is_closed}: {told:?}");
    }
}

#[test]
fn a_renewal_ends_what_is_not_there_and_is_sent_again_where_it_failed() {
    enum Said {
        Reply(Reply),
        Failure(StoreErrorKind),
    }
    let other = Reply::Granted {
        token: TOKEN + 1,
        signal: None,
    };
    for (said, held) in [
        (Said::Reply(granted()), true),
        (Said::Reply(other), false),
        (Said::Reply(Reply::Gone), false),
        (Said::Failure(StoreErrorKind::Foreign), false),
        (Said::Failure(StoreErrorKind::Busy), true),
        (Said::Failure(StoreErrorKind::Refused), true),
    ] {
        let mut rig = Rig::new();
        let hold = rig.take(&Rig::want());
        rig.pass(4 * SECOND);
        let touch = rig.next();
        assert!(matches!(touch.op, Op::Touch { .. }), "{touch:?}");
        let failed = matches!(said, Said::Failure(_));
        match said {
            Said::Reply(reply) => rig.answer(touch, reply),
            Said::Failure(kind) => rig.fail(touch, kind),
        }
        assert_eq!(hold.is_valid(), held);
        if held && failed {
            rig.run(SOON);
            assert!(matches!(rig.next().op, Op::Touch { .. }));
        }
    }
}

#[test]
fn there_is_no_attempt_at_the_very_end_of_the_time() {
    for (block, told) in [(SECOND, true), (SECOND + Duration::from_nanos(1), false)] {
        let rig = Rig::new();
        let mut waits = rig.enter(&Rig::patience(Patience::Poll {
            retries: 9,
            interval: SECOND,
            block: Some(block),
        }));
        rig.answer(rig.next(), Reply::Busy { holder: None });
        assert_eq!(poll(&mut waits).is_some(), told);
    }
}

#[test]
fn an_answer_that_is_older_than_the_grant_says_nothing() {
    let mut rig = Rig::new();
    let mut waits = rig.enter(&Rig::want());
    let (asked, ticket, _) = rig.asked();
    rig.answer(asked, queued());
    rig.pass(SECOND);
    let touch = rig.next();
    // The grant arrives as a message, while the touch that it names is still in flight.
    rig.member.told(&rig.name, grant(ticket, 2, SECOND));
    let hold = poll(&mut waits).expect("granted").unwrap();
    rig.answer(touch, Reply::Gone);
    assert!(hold.is_valid());
    rig.pass(SECOND / 10);
    let claim = rig.next();
    assert!(matches!(claim.op, Op::Touch { lease: Lease { ticket: it, .. }, .. } if it == ticket));
    rig.answer(claim, Reply::Gone);
    assert!(hold.is_lost());
}

#[test]
fn a_release_that_fails_is_sent_again_soon() {
    for kind in [StoreErrorKind::Busy, StoreErrorKind::Refused, UNREPLICATED] {
        let mut rig = Rig::new();
        let hold = rig.take(&Rig::want());
        hold.release(false);
        rig.fail(rig.next(), kind);
        rig.run(SOON - SOON / 100);
        assert!(rig.is_silent(), "{kind:?}");
        rig.run(SOON / 100);
        let again = rig.next();
        assert!(matches!(again.op, Op::Release { .. }), "{again:?}");
        rig.answer(again, Reply::Released { free: 1 });
        assert!(hold.queue.lock().state.is_over(Instant::START));
    }
}
