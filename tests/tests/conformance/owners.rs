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
    let mutex = client.mutex("m");
    for mutex in [mutex.clone().owner("o"), mutex.cluster_owner("o")] {
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
}

pub(crate) async fn an_owner_refreshes_and_unlocks_from_any_task(store: &dyn TestStore) {
    let [client, far] = store.members();
    let (a, b) = (client.mutex("m"), far.mutex("m"));
    for [mutex, elsewhere, stranger] in [
        [
            a.clone().owner("o"),
            a.clone().owner("o"),
            a.clone().owner("p"),
        ],
        // An owner of the cluster does so on any machine.
        [
            a.cluster_owner("o"),
            b.clone().cluster_owner("o"),
            b.cluster_owner("p"),
        ],
    ] {
        let guard = mutex.expire(HOUR).lock().await.unwrap();
        assert!(elsewhere.is_owned().await.unwrap());
        assert!(!stranger.is_owned().await.unwrap());
        elsewhere.refresh(HOUR * 5).await.unwrap();
        becomes!("the holder is told", guard.expires_in() > HOUR * 4);
        is!(stranger.refresh(HOUR).await, Err(LockError::Lost { .. }));
        assert!(!stranger.unlock().await.unwrap());
        guard.check().unwrap();
        assert!(elsewhere.unlock().await.unwrap());
        soon("the holder is told", guard.lost()).await;
        assert!(!elsewhere.is_owned().await.unwrap());
        assert!(stranger.try_lock().await.unwrap().is_some());
    }
}

pub(crate) async fn an_owner_of_the_cluster_is_everywhere(store: &dyn TestStore) {
    let [a, b, stranger] = store.members();
    let first = a.mutex("m").cluster_owner("o").lock().await.unwrap();
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
    assert!(stranger.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn an_owner_has_a_name(store: &dyn TestStore) {
    let client = store.member();
    let (mutex, held) = (client.mutex("m"), client.mutex("m").lock().await.unwrap());
    for nobody in [mutex.clone().owner(""), mutex.cluster_owner("")] {
        is!(
            nobody.try_lock().await,
            Err(LockError::InvalidOption { .. })
        );
        assert!(!matches!(nobody.unlock().await, Ok(true)));
    }
    held.check().unwrap();
    let odd = client.mutex("odd").cluster_owner("a b:c %\n{}ü");
    let _guard = odd.lock().await.unwrap();
    assert!(odd.is_owned().await.unwrap());
}

pub(crate) async fn an_owner_passes_who_waits_beside_it(store: &dyn TestStore) {
    let [a, b] = store.members();
    let first = a.mutex("m").cluster_owner("o").lock().await.unwrap();
    let waits = with(&b, |b| async move { b.mutex("m").lock().await.unwrap() });
    waiters(&a.mutex("m"), 1).await;
    let second = b.mutex("m").cluster_owner("o");
    let second = soon("the owner's other", second.lock()).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    assert!(!waits.is_finished());
    drop((first, second));
    drop(soon("who waited", waits).await.unwrap());
}
