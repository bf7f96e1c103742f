//! A call that would block the only thread that can release the lock is refused.

use std::thread;

use super::{Rig, SECOND, queued};
use crate::base::error::LockError;
use crate::base::task::Home;
use crate::queue::{Patience, Requester, Want};
use crate::store::Share;

/// A request for one or more of three units, by a call that blocks this thread.
fn blocking(units: u32) -> (Want, Requester) {
    let by = Requester {
        blocking: true,
        home: Some(Home::Thread(thread::current().id())),
        ..Requester::default()
    };
    (Rig::share(Share::of(units, 3)), by)
}

/// Like [`blocking`], but by a task that does not block the thread.
fn waiting(units: u32) -> (Want, Requester) {
    let mut asks = blocking(units);
    asks.1.blocking = false;
    asks
}

fn elsewhere(units: u32) -> (Want, Requester) {
    let home = thread::spawn(|| thread::current().id()).join();
    let by = Requester {
        home: home.ok().map(Home::Thread),
        ..Requester::default()
    };
    (blocking(units).0, by)
}

#[track_caller]
fn is_refused(rig: &Rig, (want, by): &(Want, Requester)) {
    let entered = rig
        .member
        .with_queue(&rig.name, |local| local.enter(want, by));
    let entered = entered.map(|entered| entered.map(drop));
    assert!(
        matches!(&entered, Ok(Err(LockError::Deadlock { cycle, .. }))
            if cycle.len() == 1 && cycle[0].holds == "queue:name" && cycle[0].waits_for == "queue:name"),
        "{entered:?}"
    );
}

#[track_caller]
fn may_wait(rig: &Rig, asks: &(Want, Requester)) {
    drop(rig.enter(asks));
}

#[tokio::test]
async fn what_its_own_thread_holds_is_not_waited_for() {
    let rig = Rig::new();
    let _held = rig.take(&blocking(1));
    is_refused(&rig, &blocking(3));
    may_wait(&rig, &blocking(2));
    // Callers on other threads may wait, and so may callers that do not block their thread.
    may_wait(&rig, &elsewhere(3));
    let (wants, by) = blocking(3);
    let homeless = Requester {
        home: None,
        ..by.clone()
    };
    let tries = Want {
        patience: Patience::NONE,
        ..wants.clone()
    };
    let signalled = Want {
        share: Share::of(1, 0),
        ..wants.clone()
    };
    for asks in [
        waiting(3),
        (wants, homeless),
        (tries, by.clone()),
        (signalled, by),
    ] {
        may_wait(&rig, &asks);
    }
}

#[tokio::test]
async fn what_others_hold_may_be_waited_for() {
    let rig = Rig::new();
    let _held = rig.take(&elsewhere(3));
    may_wait(&rig, &blocking(3));
}

#[tokio::test]
async fn what_its_own_thread_waits_for_counts_like_what_it_holds() {
    let rig = Rig::new();
    let _theirs = rig.take(&elsewhere(1));
    let _held = rig.take(&blocking(1));
    let _waits = rig.enter(&waiting(2));
    rig.answer(rig.next(), queued());
    is_refused(&rig, &blocking(1));
}

#[tokio::test]
async fn who_waits_before_it_for_what_its_thread_holds_is_in_its_way() {
    let rig = Rig::new();
    let _held = rig.take(&blocking(1));
    let mut brief = elsewhere(3);
    brief.0.patience = Patience::Queue(Some(SECOND));
    let before = rig.enter(&brief);
    may_wait(&rig, &blocking(1));
    drop(before);
    let _before = rig.enter(&elsewhere(3));
    is_refused(&rig, &blocking(1));
}

#[test]
fn a_thread_that_runs_no_task_may_block_as_it_likes() {
    let rig = Rig::new();
    let _held = rig.take(&blocking(3));
    may_wait(&rig, &blocking(3));
}

#[tokio::test]
async fn who_asks_for_more_than_there_is_is_told_so_by_the_store() {
    let rig = Rig::new();
    may_wait(&rig, &blocking(4));
    let _before = rig.enter(&elsewhere(4));
    may_wait(&rig, &blocking(1));
}
