//! First come, first served. A departed waiter leaves nothing behind.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon, waiters, with};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn members_get_it_in_the_order_they_came(store: &dyn TestStore) {
    let (holder, observer) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..8 {
        let (client, order) = (store.member(), order.clone());
        tasks.push(tokio::spawn(async move {
            let guard = client.mutex("m").lock().await.unwrap();
            order.lock().unwrap().push(number);
            guard.unlock().await.unwrap();
        }));
        waiters(&observer.mutex("m"), number + 1).await;
    }
    guard.unlock().await.unwrap();
    for task in tasks {
        soon("everybody gets in", task).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
}

pub(crate) async fn tasks_of_a_member_get_it_in_the_order_they_came(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (client, order) = (client.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let guard = client.mutex("m").lock().await.unwrap();
            order.lock().unwrap().push(number);
            guard.unlock().await.unwrap();
        }));
        // On a current-thread runtime the task runs up to its wait.
        tokio::task::yield_now().await;
    }
    waiters(&holder.mutex("m"), 1).await;
    guard.unlock().await.unwrap();
    for task in tasks {
        soon("everybody gets in", task).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

pub(crate) async fn nobody_overtakes_the_queue(store: &dyn TestStore) {
    let (a, b, c) = (store.member(), store.member(), store.member());
    let guard = a.mutex("m").lock().await.unwrap();
    let waiting = with(&b, |b| async move { b.mutex("m").lock().await.unwrap() });
    waiters(&c.mutex("m"), 1).await;
    guard.unlock().await.unwrap();
    // The release has already granted the lock to the waiter. No other call gets it, not even one of the releasing
    // member.
    assert!(c.mutex("m").try_lock().await.unwrap().is_none());
    assert!(a.mutex("m").try_lock().await.unwrap().is_none());
    let guard = soon("the waiter", waiting).await.unwrap();
    guard.unlock().await.unwrap();
}

pub(crate) async fn a_cancelled_waiter_leaves_the_queue_at_once(store: &dyn TestStore) {
    let (holder, client, observer) = (store.member(), store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let task = tokio::spawn(async move {
        let guard = client.mutex("m").lock().await.unwrap();
        drop(guard);
    });
    waiters(&observer.mutex("m"), 1).await;
    task.abort();
    // The waiter's place would last for a lease, which is longer than this test waits.
    waiters(&observer.mutex("m"), 0).await;
    guard.unlock().await.unwrap();
}

pub(crate) async fn a_waiter_that_timed_out_leaves_the_queue_at_once(store: &dyn TestStore) {
    let (holder, client, observer) = (store.member(), store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").block(Duration::from_millis(100));
    assert!(mutex.lock().await.unwrap_err().is_timeout());
    waiters(&observer.mutex("m"), 0).await;
    let blocks = store.thread(move || mutex.blocking_lock().unwrap_err());
    assert!(blocks.await.unwrap().is_timeout());
    waiters(&observer.mutex("m"), 0).await;
}

pub(crate) async fn a_cancelled_waiter_does_not_take_the_grant_with_it(store: &dyn TestStore) {
    let (holder, first, second) = (store.member(), store.member(), store.member());
    for round in 0..20 {
        let guard = holder.mutex("m").lock().await.unwrap();
        let cancelled = with(&first, |first| async move {
            first.mutex("m").lock().await.map(drop)
        });
        waiters(&holder.mutex("m"), 1).await;
        let next = with(&second, |second| async move {
            second.mutex("m").lock().await.unwrap()
        });
        waiters(&holder.mutex("m"), 2).await;
        // The grant is in flight, or about to be sent, when the wait is cancelled.
        if round % 2 == 0 {
            drop(guard);
            cancelled.abort();
        } else {
            cancelled.abort();
            drop(guard);
        }
        let guard = soon("the next one", next).await.unwrap();
        guard.unlock().await.unwrap();
    }
}

pub(crate) async fn cancelling_at_any_moment_leaves_nothing_behind(store: &dyn TestStore) {
    let mut seed = Seed::announce("cancelling_at_any_moment_leaves_nothing_behind");
    let clients = [store.member(), store.member(), store.member()];
    for _ in 0..60 {
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let client = seed.pick(&clients).clone();
                tokio::spawn(async move {
                    let guard = client.mutex("m").lock().await.unwrap();
                    tokio::task::yield_now().await;
                    drop(guard);
                })
            })
            .collect();
        for task in &tasks {
            tokio::time::sleep(Duration::from_micros(seed.below(500))).await;
            if seed.below(2) == 0 {
                task.abort();
            }
        }
        for task in tasks {
            // A task may have been cancelled, but must not have panicked.
            if let Err(error) = soon("cancelled or in", task).await {
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
    let observer = store.member();
    becomes("nobody holds or waits", async || {
        let info = observer.mutex("m").info().await.unwrap();
        !info.locked && info.waiters.is_empty()
    })
    .await;
}
