//! How long a call waits, and what it reports.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::prelude::*;

const WAIT: Duration = Duration::from_millis(150);

pub(crate) async fn a_timeout_names_the_holder(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    for block in [Duration::ZERO, WAIT] {
        let mutex = client.mutex("m").block(block);
        let (blocks, started) = (mutex.clone(), Instant::now());
        let blocks = store.thread(move || blocks.blocking_lock().unwrap_err());
        for error in [
            soon("an answer", mutex.lock()).await.unwrap_err(),
            blocks.await.unwrap(),
        ] {
            let LockError::Timeout {
                name,
                holder: Some(holder),
                waited,
                ..
            } = &error
            else {
                panic!("{error:?}");
            };
            assert_eq!(name, "suite:m");
            assert!(store.is_ours(holder.pid));
            assert!(!holder.host.is_empty());
            assert!(store.is_lately(holder.since));
            assert!(*waited >= block && started.elapsed() >= block);
            let pid = holder.pid.to_string();
            assert!(error.to_string().contains(&pid), "{error}");
        }
    }
    waiters(&holder.mutex("m"), 0).await;
    guard.unlock().await.unwrap();
    // A call with a `block` of zero still asks for the lock.
    drop(client.mutex("m").block("0s").lock().await.unwrap());
}

pub(crate) async fn a_waiter_is_woken_by_a_release(store: &dyn TestStore) {
    let [holder, client] = store.members();
    for _ in 0..30 {
        let guard = holder.mutex("m").lock().await.unwrap();
        let waiting = with(&client, |client| async move {
            client.mutex("m").lock().await.unwrap()
        });
        waiters(&holder.mutex("m"), 1).await;
        drop(guard);
        let guard = soon("woken", waiting).await.unwrap();
        guard.unlock().await.unwrap();
    }
}

pub(crate) async fn waited_and_attempts_tell_what_it_took(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    assert_eq!(guard.attempts(), 1);
    let waiting = tokio::spawn(async move { client.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    tokio::time::sleep(WAIT).await;
    guard.unlock().await.unwrap();
    let guard = soon("woken", waiting).await.unwrap();
    assert!(guard.waited() >= WAIT, "{:?}", guard.waited());
}

pub(crate) async fn the_default_block_comes_from_the_client(store: &dyn TestStore) {
    let holder = store.member();
    let client = Client::connect(store.config().block("100ms")).unwrap();
    let _guard = holder.mutex("m").lock().await.unwrap();
    is!(
        soon("a timeout", client.mutex("m").lock()).await,
        Err(LockError::Timeout { .. })
    );
}

/// An `expire` that ends before the test polls the waiter again.
const BRIEFLY: Duration = Duration::from_millis(100);

/// Polls `future` once, with a waker that does nothing.
fn look<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Releases `guard`, so that the waiter of another member gets the lock. When that grant has expired, takes the lock
/// again and returns the new guard.
async fn miss(mutex: &Mutex, guard: MutexGuard) -> MutexGuard {
    waiters(mutex, 1).await;
    assert!(guard.unlock().await.unwrap());
    waiters(mutex, 0).await;
    soon("its grant is over", mutex.lock()).await.unwrap()
}

pub(crate) async fn who_looks_too_late_is_granted_again(store: &dyn TestStore) {
    let (holder, client) = (store.member().mutex("m"), store.member());
    what_was_lost_is_waited_for_again(&holder, &client.mutex("m").expire(BRIEFLY)).await;
    a_try_tries_again(&holder, &client.mutex("m").expire(BRIEFLY)).await;
}

async fn what_was_lost_is_waited_for_again(holder: &Mutex, mutex: &Mutex) {
    let mut guard = holder.lock().await.unwrap();
    let mut waiting = Box::pin(mutex.lock());
    assert!(look(&mut waiting).is_pending());
    guard = miss(holder, guard).await;
    assert!(look(&mut waiting).is_pending(), "it has nothing");
    waiters(holder, 1).await;
    let token = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    let next = soon("granted again", waiting).await.unwrap();
    assert!(next.fencing_token() > token);
    assert!(next.waited() > BRIEFLY / 2, "{:?}", next.waited());
    drop(next);
    // A call that always looks too late is told.
    let mut guard = soon("free", holder.lock()).await.unwrap();
    let mut waiting = Box::pin(mutex.lock());
    let mut missed = 0;
    let error = loop {
        match look(&mut waiting) {
            Poll::Pending => guard = miss(holder, guard).await,
            Poll::Ready(answer) => break answer.unwrap_err(),
        }
        missed += 1;
    };
    is!(error, LockError::Lost { .. });
    assert!(missed > 1);
    assert!(guard.unlock().await.unwrap());
}

async fn a_try_tries_again(holder: &Mutex, mutex: &Mutex) {
    let mut rounds = vec![false, true];
    let mut left = 20;
    while let Some(&busy) = rounds.last() {
        assert!(left > 0, "it is free, and never granted");
        left -= 1;
        let token = holder.lock().await.unwrap().fencing_token();
        becomes!("free", !holder.is_locked().await.unwrap());
        let mut trying = Box::pin(mutex.try_lock());
        // The memory store answers at the first poll, so the call cannot receive its grant too late.
        if look(&mut trying).is_ready() {
            return;
        }
        becomes!("it was granted, and is over", {
            let info = holder.info().await.unwrap();
            !info.locked && info.fencing_token.is_some_and(|last| last > token)
        });
        let guard = if busy {
            Some(holder.lock().await.unwrap())
        } else {
            None
        };
        let tried = match soon("an answer", trying).await {
            // The store answered later than after `expire`, or too few servers of a quorum did in time.
            Err(LockError::Unavailable { .. }) => continue,
            tried => tried.unwrap(),
        };
        // In a quorum, some servers may keep the former holder longer than others, so the lock is found busy.
        if !busy && tried.is_none() {
            continue;
        }
        assert_eq!(tried.is_none(), guard.is_some());
        rounds.pop();
    }
}
