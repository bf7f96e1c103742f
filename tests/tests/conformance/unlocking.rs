//! The result of a release, and its effect.

use std::time::Duration;

use auto_mutex::MutexGuard;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;
use auto_mutex_tests::was_lost;

pub(crate) async fn unlock_tells_the_truth(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // After an awaited release, the lock is free at once.
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    assert!(
        !client.mutex("m").unlock().await.unwrap(),
        "nothing is held"
    );
}

pub(crate) async fn unlock_after_a_loss_says_so_and_frees_nobody_else(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let stale = client
        .mutex("m")
        .expire(Duration::from_millis(500))
        .lock()
        .await
        .unwrap();
    soon("it expires", stale.lost()).await;
    let next = soon("the next one", other.mutex("m").lock()).await.unwrap();
    assert!(was_lost(stale.unlock().await));
    next.check().unwrap();
    assert!(
        client.mutex("m").try_lock().await.unwrap().is_none(),
        "the next one still holds"
    );
    assert!(next.unlock().await.unwrap());
}

pub(crate) async fn the_handle_unlocks_what_its_task_holds(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    assert!(
        !other.mutex("m").unlock().await.unwrap(),
        "not what others hold"
    );
    assert!(mutex.unlock().await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    // The handle has released the lock, so the guard has lost it.
    assert!(guard.is_lost());
    assert!(was_lost(guard.unlock().await));
}

pub(crate) async fn force_unlock_tells_the_truth(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    assert!(
        !other.mutex("m").force_unlock().await.unwrap(),
        "nobody holds it"
    );
    let _guard = client.mutex("m").lock().await.unwrap();
    assert!(other.mutex("m").force_unlock().await.unwrap());
    assert!(
        !other.mutex("m").force_unlock().await.unwrap(),
        "nobody holds it any more"
    );
}

pub(crate) async fn a_dropped_guard_frees_the_lock(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    drop(client.mutex("m").lock().await.unwrap());
    becomes("free", async || {
        !other.mutex("m").is_locked().await.unwrap()
    })
    .await;
}

pub(crate) async fn after_an_unlock_inside_a_protected_body_it_can_be_taken_again(
    store: &dyn TestStore,
) {
    let client = store.member();
    let mutex = client.mutex("m");
    let body = mutex.synchronize(async |outer: &MutexGuard| {
        assert!(mutex.unlock().await.unwrap());
        for again in [client.mutex("m"), client.mutex("m").reentrant()] {
            let inner = soon("it is free", again.lock()).await.unwrap();
            assert!(inner.fencing_token() > outer.fencing_token());
            assert!(inner.unlock().await.unwrap());
        }
    });
    soon("the body", body).await.unwrap();
}
