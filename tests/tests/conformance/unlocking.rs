//! The result of a release, and its effect.

use crate::prelude::*;

pub(crate) async fn unlock_tells_the_truth(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // After an awaited release, the lock is free at once.
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    assert!(!mutex.unlock().await.unwrap(), "nothing is held");
    // A handle unlocks what its task holds, but not what others hold.
    let guard = soon("free", mutex.lock()).await.unwrap();
    assert!(!other.mutex("m").unlock().await.unwrap());
    assert!(mutex.unlock().await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    // The handle has released the lock, so the guard has lost it.
    assert!(guard.is_lost());
    assert!(was_lost(guard.unlock().await));
}

pub(crate) async fn a_dropped_guard_frees_the_lock(store: &dyn TestStore) {
    let [client, other] = store.members();
    drop(client.mutex("m").lock().await.unwrap());
    let other = other.mutex("m");
    becomes!("free", !other.is_locked().await.unwrap());
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
