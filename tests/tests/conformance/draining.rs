//! A client that drains: it takes no new locks, and its holders may finish.

use std::future::pending;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::prelude::*;

fn is_shut_down<T>(result: Result<T, LockError>) -> bool {
    matches!(result, Err(LockError::ShutDown))
}

type Draining = JoinHandle<Result<Drained, LockError>>;

/// Drains the client, and waits until it refuses new locks.
async fn drains(client: &Client) -> Draining {
    let draining = with(client, |client| async move { client.drain("600s").await });
    becomes!(
        "new calls are refused",
        is_shut_down(client.mutex("another").try_lock().await)
    );
    draining
}

async fn is_complete(draining: Draining) {
    let drained = soon("nothing is held", draining).await.unwrap().unwrap();
    assert!(drained.is_complete(), "{drained}");
}

/// Waits until the client has so many locks and waiters.
async fn has(client: &Client, held: usize, waiting: usize) {
    becomes!("it holds and waits", {
        let health = client.health();
        (health.held, health.waiting) == (held, waiting)
    });
}

pub(crate) async fn who_holds_goes_on_and_who_waits_is_sent_away(store: &dyn TestStore) {
    let [client, other, observer] = store.members();
    let guard = client.mutex("m").lock().await.unwrap();
    let waits = with(&client, |client| async move {
        client.mutex("m").lock().await.map(drop)
    });
    let blocks = client.mutex("m");
    let blocks = store.thread(move || blocks.blocking_lock().map(drop));
    let next = with(&other, |other| async move { other.mutex("m").lock().await });
    has(&client, 1, 2).await;
    // The two waiting calls of `client` share one place in the queue, so the store has two waiters.
    waiters(&observer.mutex("m"), 2).await;
    let draining = drains(&client).await;
    for sent_away in ended("the waiting call ends", [waits, blocks]).await {
        assert!(is_shut_down(sent_away));
    }
    // Only the other client is left in the queue.
    waiters(&observer.mutex("m"), 1).await;
    let health = client.health();
    assert!(!health.accepts_calls && !health.is_ready() && health.connected);
    assert!(is_shut_down(client.mutex("m").lock().await));
    assert!(is_shut_down(client.mutex("free").lock().await));
    assert!(is_shut_down(client.multi(["free", "m"]).try_lock().await));
    guard.refresh("600s").await.unwrap();
    assert!(client.mutex("m").is_locked().await.unwrap());
    assert!(!draining.is_finished() && !next.is_finished());
    assert!(guard.unlock().await.unwrap());
    is_complete(draining).await;
    drop(soon("the other one's turn", next).await.unwrap().unwrap());
    assert!(is_shut_down(client.mutex("m").info().await), "closed");
    let again = client.drain("600s").await.unwrap();
    assert!(again.is_complete(), "twice is harmless");
}

pub(crate) async fn bodies_take_nested_locks_until_they_end(store: &dyn TestStore) {
    let [client, other] = store.members();
    let held_by_other = other.mutex("theirs").lock().await.unwrap();
    let (inside, is_inside) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel();
    let body = with(&client, |client| async move {
        let outer = client.mutex("outer").reentrant();
        let body = outer.synchronize(async |_| {
            inside.send(()).unwrap();
            may_go_on.await.unwrap();
            // The body takes the same lock again, another one, several, and one held by another client.
            drop(outer.lock().await?);
            drop(client.mutex("inner").lock().await?);
            drop(client.multi(["one", "two"]).lock().await?);
            drop(client.mutex("theirs").lock().await?);
            // Another task is not part of the body, so its call is refused.
            let task = tokio::spawn(async move { client.mutex("inner").lock().await });
            Ok::<_, LockError>(is_shut_down(task.await.unwrap()))
        });
        body.await?
    });
    is_inside.await.unwrap();
    let draining = drains(&client).await;
    go_on.send(()).unwrap();
    waiters(&other.mutex("theirs"), 1).await;
    assert!(!draining.is_finished());
    drop(held_by_other);
    assert!(soon("the body ends", body).await.unwrap().unwrap());
    is_complete(draining).await;
}

pub(crate) async fn a_nested_wait_goes_on(store: &dyn TestStore) {
    let [client, other] = store.members();
    let held_by_other = other.mutex("theirs").lock().await.unwrap();
    // This task has no protected body: it takes locks by hand, and waits for the second while it holds the first.
    let body = with(&client, |client| async move {
        let _first = client.mutex("first").lock().await?;
        drop(client.mutex("theirs").lock().await?);
        client.mutex("third").lock().await.map(drop)
    });
    // A thread does the same.
    let locks = client.clone();
    let thread = store.thread(move || {
        let _first = locks.mutex("thread").blocking_lock()?;
        locks.mutex("theirs").blocking_lock().map(drop)
    });
    has(&client, 2, 2).await;
    let draining = drains(&client).await;
    assert_eq!(client.health().waiting, 2);
    drop(held_by_other);
    for body in ended("the body ends", [body, thread]).await {
        body.unwrap();
    }
    is_complete(draining).await;
}

pub(crate) async fn a_nested_wait_for_a_notification_goes_on(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (taken, has_taken) = oneshot::channel();
    // The task takes its locks by hand. It holds `first` while it waits for the notification, and then for `m`.
    let body = with(&client, |client| async move {
        let _first = client.mutex("first").lock().await?;
        let guard = client.mutex("m").lock().await?;
        taken.send(()).unwrap();
        client.condvar("m").wait(guard).await.map(drop)
    });
    has_taken.await.unwrap();
    has(&client, 1, 1).await;
    let draining = drains(&client).await;
    assert_eq!(client.health().waiting, 1);
    // The store may not know the waiter yet.
    let condvar = other.condvar("m");
    becomes!("it is notified", condvar.notify_one().await.unwrap());
    soon("the body ends", body).await.unwrap().unwrap();
    is_complete(draining).await;
}

pub(crate) async fn a_body_that_does_not_end_is_reported_and_cut_off(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = client.mutex("by-hand").lock().await.unwrap();
    let (begun, begins) = oneshot::channel();
    let body = with(&client, |client| async move {
        let mutex = client.mutex("body");
        let body = mutex.synchronize(async |_| {
            let _ = begun.send(());
            pending::<()>().await
        });
        body.await
    });
    // A lock counts as held once it is granted. If the drain ended before the call received the grant, the call would
    // be refused, so the test waits until the body runs.
    soon("the body begins", begins).await.unwrap();
    assert_eq!(client.health().held, 2);
    let drained = client.drain("10ms").await.unwrap();
    assert!(!drained.is_complete());
    let mut names: Vec<_> = drained.left.iter().map(|left| &*left.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["suite:body", "suite:by-hand"]);
    for left in &drained.left {
        assert!(left.site.contains("draining.rs:"), "{left}");
        assert!(left.since <= std::time::SystemTime::now());
    }
    assert!(guard.is_lost());
    is!(
        soon("the body is cancelled", body).await.unwrap(),
        Err(LockError::Lost { .. })
    );
    for name in ["by-hand", "body"] {
        assert!(other.mutex(name).try_lock().await.unwrap().is_some());
    }
}

pub(crate) async fn a_drain_may_be_cut_short(store: &dyn TestStore) {
    let other = store.member();
    // Three things cut a drain short: the end of the future given to `drain_until`, the drop of its own future, and a
    // shutdown.
    for way in 0..3 {
        let client = store.member();
        let guard = client.mutex("m").lock().await.unwrap();
        let (end, ends) = oneshot::channel::<()>();
        let draining = with(&client, |client| async move {
            client.drain_until(async { drop(ends.await) }).await
        });
        becomes!("it drains", !client.health().accepts_calls);
        guard.check().unwrap();
        match way {
            0 => {
                end.send(()).unwrap();
                let drained = soon("it ends", draining).await.unwrap();
                assert_eq!(drained.left.len(), 1);
            }
            1 => {
                draining.abort();
                soon("the lock is given up", guard.lost()).await;
            }
            _ => {
                soon("shut down", client.shutdown()).await;
                drop(soon("it ends too", draining).await.unwrap());
            }
        }
        assert!(guard.is_lost());
        drop(soon("free", other.mutex("m").lock()).await.unwrap());
    }
}
