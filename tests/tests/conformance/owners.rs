//! Calls that name the same owner share the lock.

use crate::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn tasks_of_one_owner_share_the_lock(store: &dyn TestStore) {
    let [client, stranger] = store.members();
    let mutex = client.mutex("m").owner("o").expire(HOUR);
    let first = mutex.lock().await.unwrap();
    // Who enters does not restart `expire`.
    let enters = mutex.clone().expire(HOUR * 5);
    let task = tokio::spawn(async move { enters.lock().await.unwrap() });
    let second = soon("the other task", task).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    assert!(first.expires_in() <= HOUR, "{:?}", first.expires_in());
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
    // The same in a body.
    let body = mutex.synchronize(async |guard: &MutexGuard| {
        let again = mutex.clone().expire(HOUR * 5).lock().await.unwrap();
        assert_eq!(again.fencing_token(), guard.fencing_token());
        assert!(guard.expires_in() <= HOUR, "{:?}", guard.expires_in());
    });
    soon("the body", body).await.unwrap();
}

pub(crate) async fn who_waits_enters_with_its_owner(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let mutex = client.mutex("m").owner("o");
    let guard = soon("free", holder.mutex("m").lock()).await.unwrap();
    let task = || with(&mutex, |mutex| async move { mutex.lock().await.unwrap() });
    let (first, second) = (task(), task());
    waiters(&holder.mutex("m"), 1).await;
    guard.unlock().await.unwrap();
    let first = soon("the first", first).await.unwrap();
    let second = soon("the second, beside it", second).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    drop(first);
    assert!(second.unlock().await.unwrap());
}

pub(crate) async fn an_owner_refreshes_and_unlocks_from_any_task(store: &dyn TestStore) {
    let [client, far] = store.members();
    let mutex = client.mutex("m").owner("o");
    let guard = mutex.clone().expire(HOUR).lock().await.unwrap();
    assert!(mutex.is_owned().await.unwrap());
    mutex.refresh(HOUR * 5).await.unwrap();
    assert!(guard.expires_in() > HOUR * 4, "{:?}", guard.expires_in());
    // An owner is one of its client.
    for stranger in [client.mutex("m").owner("p"), far.mutex("m").owner("o")] {
        assert!(!stranger.is_owned().await.unwrap());
        is!(stranger.refresh(HOUR).await, Err(LockError::Lost { .. }));
        assert!(!stranger.unlock().await.unwrap());
    }
    guard.check().unwrap();
    assert!(mutex.unlock().await.unwrap());
    soon("the holder is told", guard.lost()).await;
    assert!(!mutex.is_owned().await.unwrap());
    assert!(far.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn an_owner_has_a_name(store: &dyn TestStore) {
    let client = store.member();
    let (nobody, held) = (
        client.mutex("m").owner(""),
        client.mutex("m").lock().await.unwrap(),
    );
    is!(
        nobody.try_lock().await,
        Err(LockError::InvalidOption { .. })
    );
    assert!(!matches!(nobody.unlock().await, Ok(true)));
    held.check().unwrap();
    let odd = client.mutex("odd").owner("a b:c %\n{}ü");
    let _guard = odd.lock().await.unwrap();
    assert!(odd.is_owned().await.unwrap());
}
