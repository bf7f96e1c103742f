//! First come, first served. A departed waiter leaves nothing behind.

use std::sync::{Arc, Mutex};

use crate::prelude::*;

pub(crate) async fn members_get_it_in_the_order_they_came(store: &dyn TestStore) {
    let [holder, observer] = store.members();
    let members = store.members::<8>();
    let heard = Heard::from_now();
    let guard = holder.mutex("m").lock().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for (number, client) in members.into_iter().enumerate() {
        let order = order.clone();
        tasks.push(tokio::spawn(async move {
            let guard = client.mutex("m").lock().await.unwrap();
            order.lock().unwrap().push(number);
            guard.unlock().await.unwrap();
        }));
        waiters(&observer.mutex("m"), number + 1).await;
    }
    guard.unlock().await.unwrap();
    ended("everybody gets in", tasks).await;
    heard.assert_eq(order.lock().unwrap().as_slice(), &[0, 1, 2, 3, 4, 5, 6, 7]);
}

pub(crate) async fn tasks_of_a_member_get_it_in_the_order_they_came(store: &dyn TestStore) {
    let [holder, client] = store.members();
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
    ended("everybody gets in", tasks).await;
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

pub(crate) async fn nobody_overtakes_the_queue(store: &dyn TestStore) {
    let [a, b, c] = store.members();
    let heard = Heard::from_now();
    let guard = a.mutex("m").lock().await.unwrap();
    let waiting = with(&b, |b| async move { b.mutex("m").lock().await.unwrap() });
    waiters(&c.mutex("m"), 1).await;
    guard.unlock().await.unwrap();
    // The release has already granted the lock to the waiter. No other call gets it, not even one of the releasing
    // member.
    for other in [&c, &a] {
        let tried = other.mutex("m").try_lock().await.unwrap();
        heard.assert_eq(&tried.is_some(), &false);
    }
    let guard = soon("the waiter", waiting).await.unwrap();
    guard.unlock().await.unwrap();
}

pub(crate) async fn a_waiter_that_leaves_is_out_of_the_queue_at_once(store: &dyn TestStore) {
    let [holder, client, observer] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    let cancelled = with(&client, |client| async move {
        client.mutex("m").lock().await.map(drop)
    });
    waiters(&observer.mutex("m"), 1).await;
    cancelled.abort();
    // The waiter's place would last for a lease.
    waiters(&observer.mutex("m"), 0).await;
    let mutex = client.mutex("m").block(Duration::from_millis(100));
    assert!(mutex.lock().await.unwrap_err().is_timeout());
    waiters(&observer.mutex("m"), 0).await;
    let blocks = store.thread(move || mutex.blocking_lock().unwrap_err());
    assert!(blocks.await.unwrap().is_timeout());
    waiters(&observer.mutex("m"), 0).await;
    guard.unlock().await.unwrap();
}

pub(crate) async fn a_cancelled_waiter_does_not_take_the_grant_with_it(store: &dyn TestStore) {
    let [holder, first, second] = store.members();
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
    let clients = store.members::<3>();
    at_any_moment(
        "cancelling_at_any_moment_leaves_nothing_behind",
        60,
        6,
        |seed| {
            let client = seed.pick(&clients).clone();
            async move { Some(client.mutex("m").lock().await.unwrap()) }
        },
    )
    .await;
    let observer = store.member();
    becomes!("nobody holds or waits", {
        let info = observer.mutex("m").info().await.unwrap();
        !info.locked && info.waiters.is_empty()
    });
}
