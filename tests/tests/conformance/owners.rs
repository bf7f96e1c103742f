//! Calls that name the same owner share the lock.

use std::time::Duration;

use auto_mutex::{LockError, MutexGuard};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn tasks_of_one_owner_share_the_lock(store: &dyn TestStore) {
    let (client, stranger) = (store.member(), store.member());
    let first = client.mutex("m").owner("o").lock().await.unwrap();
    let again = client.clone();
    let task = tokio::spawn(async move { again.mutex("m").owner("o").lock().await.unwrap() });
    let second = soon("the other task", task).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    for other in [
        client.mutex("m"),
        client.mutex("m").owner("p"),
        stranger.mutex("m").owner("o"),
    ] {
        assert!(other.try_lock().await.unwrap().is_none(), "{other:?}");
    }
    let info = stranger.mutex("m").info().await.unwrap();
    assert_eq!(info.owner.as_deref(), Some("o"));
    drop(first);
    second.check().unwrap();
    assert!(stranger.mutex("m").try_lock().await.unwrap().is_none());
    assert!(second.unlock().await.unwrap());
    assert!(stranger.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn who_waits_enters_with_its_owner(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    for in_cluster in [false, true] {
        let guard = holder.mutex("m").lock().await.unwrap();
        let task = || {
            let mutex = client.mutex("m");
            let mutex = match in_cluster {
                true => mutex.cluster_owner("o"),
                false => mutex.owner("o"),
            };
            tokio::spawn(async move { mutex.lock().await.unwrap() })
        };
        let (first, second) = (task(), task());
        waiters(&holder.mutex("m"), 1).await;
        guard.unlock().await.unwrap();
        let first = soon("the first", first).await.unwrap();
        let second = soon("the second, beside it", second).await.unwrap();
        assert_eq!(first.fencing_token(), second.fencing_token());
        drop(first);
        assert!(second.unlock().await.unwrap());
    }
}

pub(crate) async fn an_owner_refreshes_and_unlocks_from_any_task(store: &dyn TestStore) {
    let client = store.member();
    let expire = Duration::from_secs(3600);
    let mutex = || client.mutex("m").owner("o");
    let guard = mutex().expire(expire).lock().await.unwrap();
    let stranger = client.mutex("m").owner("p");
    assert!(mutex().is_owned().await.unwrap());
    assert!(!stranger.is_owned().await.unwrap());
    mutex().refresh(expire * 5).await.unwrap();
    assert!(guard.expires_in() > expire * 4);
    let refused = stranger.refresh(expire).await;
    assert!(
        matches!(refused, Err(LockError::Lost { .. })),
        "{refused:?}"
    );
    assert!(!stranger.unlock().await.unwrap());
    guard.check().unwrap();
    assert!(mutex().unlock().await.unwrap());
    assert!(guard.is_lost(), "its owner has released it");
    assert!(!mutex().is_owned().await.unwrap());
}

pub(crate) async fn an_owner_of_the_cluster_is_everywhere(store: &dyn TestStore) {
    let (a, b, stranger) = (store.member(), store.member(), store.member());
    let first = a.mutex("m").cluster_owner("o").lock().await.unwrap();
    assert!(b.mutex("m").cluster_owner("o").is_owned().await.unwrap());
    let second = b.mutex("m").cluster_owner("o");
    let second = soon("the other process", second.lock()).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    for other in [
        stranger.mutex("m"),
        stranger.mutex("m").owner("o"),
        stranger.mutex("m").cluster_owner("p"),
    ] {
        assert!(other.try_lock().await.unwrap().is_none(), "{other:?}");
        assert!(!other.is_owned().await.unwrap(), "{other:?}");
    }
    assert!(first.unlock().await.unwrap());
    second.check().unwrap();
    assert!(stranger.mutex("m").try_lock().await.unwrap().is_none());
    assert!(second.unlock().await.unwrap());
    let next = stranger.mutex("m").try_lock().await.unwrap().unwrap();
    assert!(next.fencing_token() > 0);
}

pub(crate) async fn an_owner_of_the_cluster_refreshes_and_unlocks_elsewhere(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let expire = Duration::from_secs(3600);
    let guard = a.mutex("m").cluster_owner("o").expire(expire);
    let guard = guard.lock().await.unwrap();
    let elsewhere = b.mutex("m").cluster_owner("o");
    elsewhere.refresh(expire * 5).await.unwrap();
    becomes("the holder is told", async || {
        guard.expires_in() > expire * 4
    })
    .await;
    let stranger = b.mutex("m").cluster_owner("p");
    assert!(!stranger.unlock().await.unwrap());
    let refused = stranger.refresh(expire).await;
    assert!(
        matches!(refused, Err(LockError::Lost { .. })),
        "{refused:?}"
    );
    guard.check().unwrap();
    assert!(elsewhere.unlock().await.unwrap());
    soon("the holder is told", guard.lost()).await;
    assert!(b.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn an_owner_has_a_name(store: &dyn TestStore) {
    let client = store.member();
    let held = client.mutex("m").lock().await.unwrap();
    for nobody in [
        client.mutex("m").owner(""),
        client.mutex("m").cluster_owner(""),
    ] {
        let refused = nobody.try_lock().await;
        assert!(
            matches!(refused, Err(LockError::InvalidOption { .. })),
            "{refused:?}"
        );
        assert!(!matches!(nobody.unlock().await, Ok(true)));
    }
    held.check().unwrap();
    let odd = client.mutex("odd").cluster_owner("a b:c %\n{}ü");
    let _guard = odd.lock().await.unwrap();
    assert!(odd.is_owned().await.unwrap());
}

pub(crate) async fn an_owner_passes_who_waits_beside_it(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let first = a.mutex("m").cluster_owner("o").lock().await.unwrap();
    let other = b.clone();
    let waits = tokio::spawn(async move { other.mutex("m").lock().await.unwrap() });
    waiters(&a.mutex("m"), 1).await;
    let second = b.mutex("m").cluster_owner("o");
    let second = soon("the owner's other", second.lock()).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    assert!(!waits.is_finished());
    drop((first, second));
    drop(soon("who waited", waits).await.unwrap());
}

pub(crate) async fn who_enters_does_not_restart_expire(store: &dyn TestStore) {
    let client = store.member();
    let long = Duration::from_secs(3600);
    let mutex = |expire| client.mutex("m").owner("o").expire(expire);
    let first = mutex(long);
    let body = first.synchronize(async |guard: &MutexGuard| {
        let again = mutex(long * 5).lock().await.unwrap();
        assert_eq!(again.fencing_token(), guard.fencing_token());
        assert!(guard.expires_in() <= long, "{:?}", guard.expires_in());
    });
    soon("the body", body).await.unwrap();
}
