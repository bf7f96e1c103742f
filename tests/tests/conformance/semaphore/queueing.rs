//! First come, first served, whatever the size of a request. A departed waiter leaves nothing behind.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon, waiters, with};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn permits_are_given_in_the_order_of_arrival(store: &dyn TestStore) {
    let (holder, observer) = (store.member(), store.member());
    let all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..6 {
        let (client, order) = (store.member(), order.clone());
        tasks.push(tokio::spawn(async move {
            let permit = client.semaphore("s", 2).acquire_many(2).await.unwrap();
            order.lock().unwrap().push(number);
            permit.release().await.unwrap();
        }));
        waiters(&observer.semaphore("s", 2), number + 1).await;
    }
    drop(all);
    for task in tasks {
        soon("everybody gets in", task).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..6).collect::<Vec<_>>());
}

pub(crate) async fn a_large_request_is_not_starved(store: &dyn TestStore) {
    let (a, b, large, small) = (
        store.member(),
        store.member(),
        store.member(),
        store.member(),
    );
    let one = a.semaphore("s", 3).acquire().await.unwrap();
    let two = b.semaphore("s", 3).acquire().await.unwrap();
    let waiting = with(&large, |large| async move {
        large.semaphore("s", 3).acquire_many(3).await.unwrap()
    });
    waiters(&a.semaphore("s", 3), 1).await;
    // One permit is free and would fit, but a larger request came first.
    for member in [&small, &a, &large] {
        let tried = member.semaphore("s", 3).try_acquire().await.unwrap();
        assert!(tried.is_none());
    }
    let behind = with(&small, |small| async move {
        small.semaphore("s", 3).acquire().await.unwrap()
    });
    waiters(&a.semaphore("s", 3), 2).await;
    one.release().await.unwrap();
    assert_eq!(a.semaphore("s", 3).info().await.unwrap().waiters.len(), 2);
    two.release().await.unwrap();
    let all = soon("the large one", waiting).await.unwrap();
    assert!(!behind.is_finished());
    all.release().await.unwrap();
    drop(soon("the small one", behind).await.unwrap());
}

pub(crate) async fn a_release_lets_in_as_many_as_fit(store: &dyn TestStore) {
    let holder = store.member();
    let all = holder.semaphore("s", 3).acquire_many(3).await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..3 {
        let client = store.member();
        tasks.push(tokio::spawn(async move {
            client.semaphore("s", 3).acquire().await.unwrap()
        }));
        waiters(&holder.semaphore("s", 3), number + 1).await;
    }
    all.release().await.unwrap();
    let mut permits = Vec::new();
    for task in tasks {
        permits.push(soon("together", task).await.unwrap());
    }
    assert_eq!(holder.semaphore("s", 3).available().await.unwrap(), 0);
}

pub(crate) async fn tasks_of_a_member_are_let_in_together(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let all = holder.semaphore("s", 3).acquire_many(3).await.unwrap();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.semaphore("s", 3).acquire().await.unwrap() })
        })
        .collect();
    waiters(&holder.semaphore("s", 3), 3).await;
    all.release().await.unwrap();
    let mut permits = Vec::new();
    for task in tasks {
        permits.push(soon("together", task).await.unwrap());
    }
}

pub(crate) async fn a_cancelled_request_makes_way(store: &dyn TestStore) {
    let (holder, large, small) = (store.member(), store.member(), store.member());
    let one = holder.semaphore("s", 2).acquire().await.unwrap();
    let cancelled = tokio::spawn(async move {
        let permit = large.semaphore("s", 2).acquire_many(2).await.unwrap();
        drop(permit);
    });
    waiters(&holder.semaphore("s", 2), 1).await;
    let behind = tokio::spawn(async move { small.semaphore("s", 2).acquire().await.unwrap() });
    waiters(&holder.semaphore("s", 2), 2).await;
    cancelled.abort();
    // No permit is released now. The smaller request waited only because the large one came first.
    let other = soon("the one behind", behind).await.unwrap();
    assert_eq!(other.release().await.unwrap(), 1);
    one.release().await.unwrap();
}

pub(crate) async fn a_timeout_names_who_has_it(store: &dyn TestStore) {
    let (holder, waiter) = (store.member(), store.member());
    let _all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let semaphore = waiter.semaphore("s", 2).block(Duration::from_millis(50));
    let error = soon("an answer", semaphore.acquire()).await.unwrap_err();
    let auto_mutex::LockError::Timeout { name, holder, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(name, "suite:s");
    assert!(store.is_ours(holder.as_ref().unwrap().pid));
    waiters(&waiter.semaphore("s", 2), 0).await;
}

pub(crate) async fn cancelled_requests_leave_no_permit_behind(store: &dyn TestStore) {
    let mut seed = Seed::announce("cancelled_requests_leave_no_permit_behind");
    let clients = [store.member(), store.member(), store.member()];
    for _ in 0..40 {
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let client = seed.pick(&clients).clone();
                let units = u32::try_from(1 + seed.below(3)).unwrap();
                tokio::spawn(async move {
                    let permit = client.semaphore("s", 3).acquire_many(units).await.unwrap();
                    tokio::task::yield_now().await;
                    drop(permit);
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
    let observer = store.member().semaphore("s", 3);
    becomes("nobody holds or waits", async || {
        let info = observer.info().await.unwrap();
        !info.locked && info.waiters.is_empty()
    })
    .await;
    assert_eq!(observer.available().await.unwrap(), 3);
}
