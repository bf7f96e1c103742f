//! First come, first served, whatever the size of a request. A departed waiter leaves nothing behind.

use std::sync::{Arc, Mutex};

use crate::prelude::*;

pub(crate) async fn permits_are_given_in_the_order_of_arrival(store: &dyn TestStore) {
    let ([holder, observer], members) = (store.members(), store.members::<6>());
    let heard = Heard::from_now();
    let all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for (number, client) in members.into_iter().enumerate() {
        let order = order.clone();
        tasks.push(tokio::spawn(async move {
            let permit = client.semaphore("s", 2).acquire_many(2).await.unwrap();
            order.lock().unwrap().push(number);
            permit.release().await.unwrap();
        }));
        waiters(&observer.semaphore("s", 2), number + 1).await;
    }
    drop(all);
    ended("everybody gets in", tasks).await;
    heard.assert_eq(order.lock().unwrap().as_slice(), &[0, 1, 2, 3, 4, 5]);
}

pub(crate) async fn a_large_request_is_not_starved(store: &dyn TestStore) {
    let members = store.members::<4>();
    let [a, b, large, small] = members.each_ref().map(|member| member.semaphore("s", 3));
    let heard = Heard::from_now();
    let one = a.acquire().await.unwrap();
    let two = b.acquire().await.unwrap();
    let waiting = with(&large, |large| async move {
        large.acquire_many(3).await.unwrap()
    });
    waiters(&a, 1).await;
    // One permit is free and would fit, but a larger request came first.
    for semaphore in [&small, &a, &large] {
        let tried = semaphore.try_acquire().await.unwrap();
        heard.assert_eq(&tried.is_some(), &false);
    }
    let behind = with(
        &small,
        |small| async move { small.acquire().await.unwrap() },
    );
    waiters(&a, 2).await;
    one.release().await.unwrap();
    heard.assert_eq(&a.info().await.unwrap().waiters.len(), &2);
    two.release().await.unwrap();
    let all = soon("the large one", waiting).await.unwrap();
    heard.assert_eq(&behind.is_finished(), &false);
    all.release().await.unwrap();
    drop(soon("the small one", behind).await.unwrap());
}

/// Those of several members, and those of one.
pub(crate) async fn a_release_lets_in_as_many_as_fit(store: &dyn TestStore) {
    let [holder, client] = store.members();
    for members in [store.members(), [client.clone(), client.clone(), client]] {
        let semaphore = holder.semaphore("s", 3);
        let all = soon("all", semaphore.acquire_many(3)).await.unwrap();
        let tasks = members.map(|client| {
            tokio::spawn(async move { client.semaphore("s", 3).acquire().await.unwrap() })
        });
        waiters(&holder.semaphore("s", 3), 3).await;
        all.release().await.unwrap();
        let _permits = ended("together", tasks).await;
        assert_eq!(holder.semaphore("s", 3).available().await.unwrap(), 0);
    }
}

pub(crate) async fn a_cancelled_request_makes_way(store: &dyn TestStore) {
    let [holder, large, small] = store.members();
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
    let [holder, waiter] = store.members();
    let _all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let semaphore = waiter.semaphore("s", 2).block(Duration::from_millis(50));
    let error = soon("an answer", semaphore.acquire()).await.unwrap_err();
    let LockError::Timeout {
        name,
        holder: Some(holder),
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(name, "suite:s");
    assert!(store.is_ours(holder.pid));
    waiters(&waiter.semaphore("s", 2), 0).await;
}

pub(crate) async fn cancelled_requests_leave_no_permit_behind(store: &dyn TestStore) {
    let clients = store.members::<3>();
    at_any_moment("cancelled_requests_leave_no_permit_behind", 40, 6, |seed| {
        let semaphore = seed.pick(&clients).semaphore("s", 3);
        let units = u32::try_from(1 + seed.below(3)).unwrap();
        async move { Some(semaphore.acquire_many(units).await.unwrap()) }
    })
    .await;
    let observer = store.member().semaphore("s", 3);
    becomes!("nobody holds or waits", {
        let info = observer.info().await.unwrap();
        !info.locked && info.waiters.is_empty()
    });
    assert_eq!(observer.available().await.unwrap(), 3);
}
