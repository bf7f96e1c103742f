//! Requests for the state of a name, and signals.

use std::task::{Context, Poll, Waker};

use super::{Rig, SECOND, lock};
use crate::base::clock::by_hand;
use crate::base::error::LockError;
use crate::queue::Answered;
use crate::store::{NameRecord, Op, RandomId, Reply, Signal, Ticket};
use auto_mutex_protocol::StoreErrorKind;

fn signal() -> Op {
    Op::Signal {
        ticket: Ticket::random(),
        signal: Signal::Token("t".into()),
    }
}

fn ask(rig: &Rig, op: &Op) -> Answered {
    let asked = rig.member.with_queue(&rig.name, |local| local.query(op));
    asked.unwrap()
}

fn told(asked: &Answered) -> Option<Result<Reply, LockError>> {
    match asked.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(told) => Some(told),
        Poll::Pending => None,
    }
}

#[test]
fn a_signal_that_was_refused_is_not_sent_again_after_a_long_suspension() {
    for reconnects in [true, false] {
        let mut rig = Rig::new();
        let asked = ask(&rig, &signal());
        // The store may have executed an earlier copy of the signal.
        rig.refuse(rig.next());
        if reconnects {
            by_hand::set(rig.now.after(29 * SECOND));
            rig.reconnect();
            assert!(rig.is_silent(), "it would be signalled twice");
        }
        rig.pass(29 * SECOND);
        assert!(rig.is_silent(), "it would be signalled twice");
        assert!(matches!(
            told(&asked),
            Some(Err(LockError::Unavailable { .. }))
        ));
    }
}

#[test]
fn who_did_not_look_in_time_reads_what_has_come_before_it_gives_up() {
    for answers in [true, false] {
        let mut rig = Rig::patient(1);
        let asked = ask(&rig, &Op::Inspect { above: 0 });
        let request = rig.next();
        // The machine was suspended.
        rig.pass(60 * SECOND);
        assert!(told(&asked).is_none());
        if answers {
            rig.answer(request, Reply::Info(NameRecord::default()));
        } else {
            rig.pass(SECOND);
        }
        assert_eq!(told(&asked).expect("an answer").is_ok(), answers);
    }
}

#[test]
fn what_is_harmless_twice_is_sent_again_behind_a_break_and_nothing_else_is() {
    for (op, again) in [
        (signal(), true),
        (Op::Inspect { above: 0 }, true),
        (Op::Delete, false),
        (Op::Force, false),
        (
            Op::Kick {
                token: 17,
                by: "h 1 s".into(),
            },
            false,
        ),
    ] {
        let rig = Rig::new();
        let asked = ask(&rig, &op);
        rig.lose(rig.next());
        assert_eq!(told(&asked).is_none(), again, "{op:?}");
        rig.reconnect();
        let sent = lock(&rig.wire.0).pop_front();
        assert_eq!(sent.is_some(), again, "{op:?}");
        if let Some(request) = sent {
            rig.answer(request, Reply::Count(3));
            assert!(matches!(told(&asked), Some(Ok(Reply::Count(3)))));
        }
        // A request that was answered is not resent.
        rig.reconnect();
        assert!(rig.is_silent(), "{op:?}");
    }
}

#[test]
fn what_a_busy_store_has_not_done_is_sent_again_soon_until_patience_ends() {
    let mut rig = Rig::patient(1);
    let asked = ask(&rig, &Op::Delete);
    rig.refuse(rig.next());
    assert!(told(&asked).is_none());
    assert!(rig.is_silent(), "not at once");
    let mut tries = 0;
    for _ in 0..99 {
        rig.pass(SECOND / 100);
        let sent = lock(&rig.wire.0).pop_front();
        if let Some(request) = sent {
            assert!(told(&asked).is_none());
            rig.refuse(request);
            tries += 1;
        }
    }
    assert!((3..50).contains(&tries), "{tries} times in a second");
    assert!(told(&asked).is_none());
    rig.pass(SECOND / 100);
    let end = told(&asked);
    assert_is!(end, Some(Err(LockError::Unavailable { .. })));
}

#[test]
fn what_the_store_refuses_is_told_at_once() {
    let rig = Rig::new();
    let asked = ask(&rig, &Op::Inspect { above: 0 });
    rig.fail(rig.next(), StoreErrorKind::Foreign);
    let end = told(&asked);
    assert_is!(end, Some(Err(LockError::ForeignKey { .. })));
}

#[test]
fn each_is_answered_for_itself() {
    let rig = Rig::new();
    let asked = [(); 2].map(|()| ask(&rig, &Op::Inspect { above: 0 }));
    let requests = [(); 2].map(|()| rig.next());
    for (asked, request) in asked.iter().zip(requests).rev() {
        assert!(told(asked).is_none());
        rig.answer(request, Reply::Count(0));
        assert!(told(asked).is_some());
    }
}
