//! Locks that stay with the client after a call.

use std::sync::Arc;
use std::time::Duration;

use super::{Rig, SECOND, TOKEN, granted, poll, queued, somebody};
use crate::base::clock;
use crate::base::error::{LockError, StoreError};
use crate::base::sync::atomic::AtomicBool;
use crate::lease::Tenure;
use crate::queue::{Hold, Want};
use crate::store::TOKENS_OF_A_GRANT;
use crate::store::{
    Cause, Closed, Events, HolderRecord, Lease, Message, Name, NodeChange, Op, Reply, Request,
    Retain, Share, Ticket,
};

const MILLI: Duration = Duration::from_millis(1);

fn want() -> Want {
    Want {
        tenure: Tenure {
            retain: Some(60 * SECOND),
            ..Tenure::default()
        },
        ..Rig::want()
    }
}

/// What a touch says, and for how long.
fn touched(request: &Request) -> (Retain, Duration) {
    match request.op {
        Op::Touch {
            lease: Lease { retain, hold, .. },
            ..
        } => (retain, hold),
        _ => panic!("{request:?}"),
    }
}

fn is_release(request: &Request) -> bool {
    matches!(request.op, Op::Release { .. })
}

fn token(number: u64) -> Reply {
    Reply::Granted {
        token: TOKEN + number,
        signal: None,
    }
}

fn end(hold: Arc<Hold>) {
    assert!(hold.remove_guard());
    hold.release(false);
}

impl Rig {
    /// Enters without a request.
    #[track_caller]
    fn enters(&self, want: &Want) -> Arc<Hold> {
        let hold = poll(&mut self.enter(want)).expect("kept").unwrap();
        assert!(self.is_silent(), "{:?}", self.next());
        hold
    }

    /// Takes the lock and releases it, so that it is kept. Returns the touch that says so.
    fn keep(&self) -> Request {
        end(self.take(&want()));
        let touch = self.next();
        assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
        touch
    }

    fn kept() -> Self {
        let rig = Self::new();
        let touch = rig.keep();
        rig.answer(touch, token(50));
        rig
    }

    fn recall(&self, ticket: Ticket) {
        self.member.told(&self.name, Message::Recall { ticket });
    }

    /// The ticket of the kept lock, which the store asks for.
    fn ticket(&self) -> Ticket {
        let hold = self.enters(&want());
        let ticket = hold.grant.ticket;
        end(hold);
        ticket
    }

    /// The next call can't use what is kept: it is released first.
    #[track_caller]
    fn acquires(&self, want: &Want) -> Request {
        let waiting = self.enter(want);
        assert!(is_release(&self.next()));
        let asked = self.asked().0;
        std::mem::forget(waiting);
        asked
    }
}

#[test]
fn a_call_that_returns_asks_for_nothing_and_has_a_token_of_its_own() {
    let rig = Rig::new();
    let mut waiting = rig.enter(&want());
    let (asked, ..) = rig.asked();
    let retain = asked.op.lease().map(|lease| lease.retain);
    assert_eq!(retain, Some(Retain::InUse));
    rig.answer(asked, granted());
    let hold = poll(&mut waiting).unwrap().unwrap();
    let mut last = hold.grant.token;
    end(hold);
    let touch = rig.next();
    assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
    rig.answer(touch, token(50));
    for _ in 0..1000 {
        let hold = rig.enters(&want());
        assert!(hold.is_valid() && hold.grant.token > last);
        last = hold.grant.token;
        end(hold);
    }
    assert!(rig.is_silent());
}

#[test]
fn the_memory_of_the_last_hold_is_used_again() {
    let rig = Rig::kept();
    let hold = rig.enters(&want());
    let place = Arc::as_ptr(&hold);
    end(hold);
    let hold = rig.enters(&want());
    assert_eq!(Arc::as_ptr(&hold), place);
    // A reference to the last hold must not see the next one.
    let last = hold.clone();
    end(hold);
    let hold = rig.enters(&want());
    assert!(!Arc::ptr_eq(&hold, &last) && last.is_released() && hold.is_valid());
}

#[test]
fn an_unlock_waits_until_the_store_knows_that_the_call_has_ended() {
    let unlocked = |rig: &Rig| {
        let hold = rig.take(&want());
        assert!(hold.remove_guard());
        let answer = hold.unlock();
        let touch = rig.next();
        assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
        assert!(answer.take_if(|_| true).is_none());
        (hold.grant.ticket, touch, answer)
    };
    let rig = Rig::new();
    let (_, touch, answer) = unlocked(&rig);
    rig.answer(touch, token(50));
    assert!(matches!(answer.blocking_wait(), Ok(Some(1))));

    // The next call enters first.
    let rig = Rig::new();
    let (_, touch, answer) = unlocked(&rig);
    let hold = rig.enters(&want());
    assert!(matches!(answer.blocking_wait(), Ok(Some(0))));
    rig.answer(touch, token(50));
    assert!(hold.is_valid());

    // Another client asks first.
    let rig = Rig::new();
    let (ticket, touch, answer) = unlocked(&rig);
    rig.recall(ticket);
    let release = rig.next();
    rig.answer(touch, token(50));
    assert!(is_release(&release) && answer.take_if(|_| true).is_none());
    rig.answer(release, Reply::Released { free: 1 });
    assert!(matches!(answer.blocking_wait(), Ok(Some(1))));

    // The store has lost it.
    let rig = Rig::new();
    let (_, touch, answer) = unlocked(&rig);
    rig.answer(touch, Reply::Gone);
    rig.answer(rig.next(), Reply::Gone);
    assert!(matches!(answer.blocking_wait(), Ok(None)));
}

#[test]
fn a_hold_that_another_process_takes_over_has_the_full_lease() {
    let rig = Rig::kept();
    let hold = rig.enters(&want());
    assert!(hold.export());
    assert_eq!(touched(&rig.next()), (Retain::No, 10 * SECOND));
    assert!(rig.is_silent());
}

#[test]
fn what_is_kept_is_valid_for_no_longer_than_its_short_lease() {
    let mut rig = Rig::new();
    let hold = rig.take(&want());
    // A renewal with the full lease is on its way.
    rig.pass(4 * SECOND);
    let renewal = rig.next();
    assert_eq!(touched(&renewal), (Retain::InUse, 10 * SECOND));
    end(hold);
    let touch = rig.next();
    assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
    rig.answer(renewal, granted());
    rig.now = rig.now.after(1930 * MILLI);
    crate::base::clock::by_hand::set(rig.now);
    // The store may have ended the short lease when 50 ms are over.
    rig.acquires(&want());
}

#[test]
fn a_greater_token_that_comes_after_the_end_of_the_lease_is_not_ours() {
    // A late copy of the acquire may have taken the lock again, after another client had it.
    for kept in [true, false] {
        let mut rig = Rig::kept();
        rig.pass(500 * MILLI);
        let touch = rig.next();
        let hold = (!kept).then(|| rig.enters(&want()));
        rig.now = rig.now.after(1_490 * MILLI);
        crate::base::clock::by_hand::set(rig.now);
        rig.answer(touch, token(2_000_000));
        assert!(is_release(&rig.next()), "kept: {kept}");
        assert!(hold.is_none_or(|hold| hold.is_lost()));
    }
}

#[test]
fn a_short_lease_is_renewed_as_long_as_the_lock_is_kept() {
    let mut rig = Rig::new();
    let want = Want {
        tenure: Tenure {
            retain: Some(3 * SECOND),
            ..Tenure::default()
        },
        ..want()
    };
    end(rig.take(&want));
    rig.answer(rig.next(), token(50));
    for number in 1..=5 {
        rig.pass(500 * MILLI);
        let touch = rig.next();
        assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
        rig.answer(touch, token(50 + number));
    }
    end(rig.enters(&want));
    for number in 6..=11 {
        rig.pass(500 * MILLI);
        let next = rig.next();
        if is_release(&next) {
            assert_eq!(number, 11);
            rig.answer(next, Reply::Released { free: 1 });
            break;
        }
        rig.answer(next, token(50 + number));
    }
    rig.pass(10 * SECOND);
    assert!(rig.is_silent());
}

#[test]
fn the_store_learns_that_a_call_is_inside_if_it_lasts() {
    let mut rig = Rig::kept();
    let hold = rig.enters(&want());
    rig.pass(19 * MILLI);
    assert!(rig.is_silent());
    rig.pass(2 * MILLI);
    let touch = rig.next();
    assert_eq!(touched(&touch), (Retain::InUse, 10 * SECOND));
    rig.answer(touch, token(60));
    assert!(hold.valid() > rig.now.after(9 * SECOND));
    rig.pass(4 * SECOND);
    assert_eq!(touched(&rig.next()), (Retain::InUse, 10 * SECOND));
    end(hold);
    assert_eq!(touched(&rig.next()), (Retain::Kept, 2 * SECOND));
}

#[test]
fn who_is_recalled_releases_at_once_or_when_its_call_ends() {
    let rig = Rig::kept();
    let ticket = rig.ticket();
    rig.recall(ticket);
    assert!(is_release(&rig.next()));

    let rig = Rig::kept();
    let hold = rig.enters(&want());
    rig.recall(hold.grant.ticket);
    assert_eq!(touched(&rig.next()), (Retain::No, 10 * SECOND));
    rig.recall(hold.grant.ticket);
    assert!(rig.is_silent());
    end(hold);
    assert!(is_release(&rig.next()));
}

#[test]
fn a_contended_lock_is_not_kept() {
    // Its grant came after a wait.
    let mut rig = Rig::new();
    let mut waiting = rig.enter(&want());
    rig.answer(rig.next(), queued());
    rig.pass(SECOND);
    rig.answer(rig.next(), granted());
    end(poll(&mut waiting).unwrap().unwrap());
    let release = rig.next();
    assert!(is_release(&release), "{release:?}");
    rig.answer(release, Reply::Released { free: 1 });
    // A moment ago, another client had it.
    let asks = |rig: &Rig| {
        let waiting = rig.enter(&want());
        let asked = rig.asked().0;
        drop(waiting);
        rig.answer(rig.next(), Reply::Cancelled);
        asked.op.lease().map(|lease| lease.retain)
    };
    assert_eq!(asks(&rig), Some(Retain::No));
    rig.pass(100 * MILLI);
    assert_eq!(asks(&rig), Some(Retain::InUse));
}

#[test]
fn two_recalls_within_a_second_pause_the_retention_of_a_name() {
    let mut rig = Rig::new();
    let retain = |rig: &mut Rig| {
        let waiting = rig.enter(&want());
        let (asked, ..) = rig.asked();
        let lease = asked.op.lease().unwrap();
        rig.answer(asked, granted());
        drop(waiting);
        match lease.retain {
            Retain::No => rig.answer(rig.next(), Reply::Released { free: 1 }),
            _ => {
                rig.recall(lease.ticket);
                rig.answer(rig.next(), granted());
                while !rig.is_silent() {
                    rig.answer(rig.next(), Reply::Released { free: 1 });
                }
            }
        }
        lease.retain
    };
    for pause in [30, 60, 120, 240, 480, 600, 600] {
        for _ in 0..2 {
            assert_eq!(
                retain(&mut rig),
                Retain::InUse,
                "before a pause of {pause} s"
            );
            // Between the recalls, the name is contended.
            rig.pass(99 * MILLI);
            assert_eq!(retain(&mut rig), Retain::No);
            rig.pass(MILLI);
        }
        rig.pass((pause - 1) * SECOND);
        assert_eq!(retain(&mut rig), Retain::No, "in a pause of {pause} s");
        rig.pass(SECOND);
    }
}

#[test]
fn another_call_does_not_enter_what_is_kept() {
    let others = [
        Want {
            meta: "h 1 other".into(),
            ..want()
        },
        Want {
            share: Share::READER,
            ..want()
        },
        Rig::want(),
    ];
    for other in others {
        Rig::kept().acquires(&other);
    }
}

#[test]
fn nothing_is_kept_when_the_client_drains_or_ends() {
    for ends in [
        |rig: &Rig| rig.member.start_draining(),
        |rig: &Rig| rig.member.begin_shutdown(),
        |rig: &Rig| rig.member.orphan(),
    ] {
        let rig = Rig::kept();
        ends(&rig);
        assert!(is_release(&rig.next()));

        let rig = Rig::kept();
        let hold = rig.enters(&want());
        ends(&rig);
        end(hold);
        assert!(is_release(&rig.next()));
    }
    let rig = Rig::kept();
    let left = rig.member.drain(clock::now(), &AtomicBool::new(false));
    assert!(left.is_empty());
}

#[test]
fn nothing_is_entered_while_the_store_is_away_or_closed() {
    let closed = |rig: &Rig| Closed {
        until: rig.now.after(SECOND),
        cause: Cause::Restart,
    };
    for change in [
        |_: &Closed| NodeChange::Disconnected(StoreError::disconnected("cut")),
        |closed: &Closed| NodeChange::Closed(Some(*closed)),
    ] {
        let rig = Rig::kept();
        rig.changed(change(&closed(&rig)));
        rig.acquires(&want());
        let rig = Rig::kept();
        let hold = rig.enters(&want());
        rig.changed(change(&closed(&rig)));
        end(hold);
        assert!(is_release(&rig.next()));
    }
}

#[test]
fn a_lost_lock_that_nobody_uses_ends_without_a_word() {
    let mut rig = Rig::kept();
    rig.pass(500 * MILLI);
    rig.answer(rig.next(), Reply::Gone);
    assert!(is_release(&rig.next()));
    // The store can't be asked.
    let mut rig = Rig::kept();
    rig.pass(500 * MILLI);
    rig.lose(rig.next());
    rig.run(2 * SECOND);
    while !rig.is_silent() {
        let next = rig.next();
        if is_release(&next) {
            return;
        }
    }
    panic!("no release");
}

#[test]
fn tokens_stay_in_the_range_that_the_store_gave() {
    let rig = Rig::new();
    let touch = rig.keep();
    let mut entered = 0;
    let mut last = TOKEN * TOKENS_OF_A_GRANT;
    while let Some(index) = Some(entered).filter(|it| *it < 1023) {
        let hold = rig.enters(&want());
        last += 1;
        assert_eq!(hold.grant.token, last, "call {index}");
        end(hold);
        entered += 1;
    }
    // The next token would be that of a later grant.
    rig.acquires(&want());
    drop(touch);

    // The store is asked for more before half of them are used.
    let rig = Rig::kept();
    let all = 51 * TOKENS_OF_A_GRANT;
    let mut more = None;
    for used in 1..all {
        end(poll(&mut rig.enter(&want())).unwrap().unwrap());
        if !rig.is_silent() {
            let touch = rig.next();
            assert_eq!(touched(&touch), (Retain::Kept, 2 * SECOND));
            rig.answer(touch, token(200));
            more = Some(used);
            break;
        }
    }
    let more = more.expect("a request for tokens");
    assert!(all / 3 < more && more <= all / 2 + 1, "{more} of {all}");
    for _ in more..all + 10 {
        end(rig.enters(&want()));
    }
}

#[test]
fn a_client_keeps_at_most_1024_names() {
    let rig = Rig::new();
    let kept = |rig: &Rig, number: u32| {
        let name = Name::from_escaped(&format!("n:{number}"));
        let entered = rig
            .member
            .with_queue(&name, |local| local.enter(&want(), &somebody()));
        let mut entered = Box::pin(entered.unwrap().unwrap());
        rig.answer(rig.next(), granted());
        end(poll(&mut entered).unwrap().unwrap());
        !is_release(&rig.next())
    };
    for number in 0..1024 {
        assert!(kept(&rig, number), "{number}");
    }
    assert!(!kept(&rig, 1024));
    // One less is kept.
    let name = Name::from_escaped("n:7");
    let other = rig
        .member
        .with_queue(&name, |local| local.enter(&Rig::want(), &somebody()));
    assert!(is_release(&rig.next()));
    drop(other);
    while !rig.is_silent() {
        rig.next();
    }
    assert!(kept(&rig, 1025));
}

#[test]
fn an_attempt_asks_again_until_the_keeper_has_answered() {
    let holder = || HolderRecord {
        token: TOKEN,
        meta: "h 2 s".into(),
    };
    let kept = || Reply::Kept { holder: holder() };
    let mut rig = Rig::new();
    let mut attempt = rig.enter(&Rig::tries());
    for pause in [1, 2, 4, 8] {
        rig.answer(rig.asked().0, kept());
        assert!(rig.is_silent() && poll(&mut attempt).is_none());
        rig.pass(pause * MILLI);
    }
    rig.answer(rig.asked().0, granted());
    assert!(poll(&mut attempt).unwrap().is_ok());

    // A call is inside.
    let mut rig = Rig::new();
    let mut attempt = rig.enter(&Rig::tries());
    rig.answer(rig.asked().0, kept());
    rig.pass(MILLI);
    let holder = Some(holder());
    rig.answer(rig.asked().0, Reply::Busy { holder });
    let result = poll(&mut attempt).unwrap();
    assert!(matches!(result, Err(LockError::Timeout { .. })));

    // The keeper never answers.
    let mut rig = Rig::new();
    let mut attempt = rig.enter(&Rig::tries());
    let began = rig.now;
    while poll(&mut attempt).is_none() {
        while !rig.is_silent() {
            rig.answer(rig.asked().0, kept());
        }
        rig.pass(MILLI);
    }
    let took = began.until(rig.now);
    assert!(2 * SECOND < took && took < 2200 * MILLI, "{took:?}");
}

#[test]
fn a_question_about_the_name_comes_after_the_news() {
    let rig = Rig::kept();
    let hold = rig.enters(&want());
    let ask = || {
        let asked = rig
            .member
            .with_queue(&rig.name, |local| local.query(&Op::Inspect { above: 0 }));
        drop(asked.unwrap());
        let first = rig.next();
        assert!(matches!(rig.next().op, Op::Inspect { .. }));
        touched(&first).0
    };
    assert_eq!(ask(), Retain::InUse);
    end(hold);
    assert_eq!(touched(&rig.next()).0, Retain::Kept);
}
