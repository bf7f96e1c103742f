//! The end of a client.

use auto_mutex::LockError;
use auto_mutex_tests::events::{soon, waiters, with};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn a_client_that_was_shut_down_says_so(store: &dyn TestStore) {
    let client = store.member();
    soon("shut down", client.shutdown()).await;
    let lock = soon("an answer", client.mutex("m").lock()).await;
    assert!(matches!(lock, Err(LockError::ShutDown)), "{lock:?}");
    assert!(matches!(
        client.mutex("m").try_lock().await,
        Err(LockError::ShutDown)
    ));
    assert!(matches!(
        client.mutex("m").info().await,
        Err(LockError::ShutDown)
    ));
    assert!(matches!(
        client.mutex("m").blocking_lock(),
        Err(LockError::ShutDown)
    ));
    // A second shutdown is harmless.
    soon("shut down again", client.shutdown()).await;
    store
        .thread(move || client.blocking_shutdown())
        .await
        .unwrap();
}

pub(crate) async fn shutdown_releases_what_is_held(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let guard = client.mutex("m").lock().await.unwrap();
    let dropped = client.mutex("dropped").lock().await.unwrap();
    drop(dropped);
    soon("shut down", client.shutdown()).await;
    // The shutdown has sent all releases, so the locks are free at once.
    assert!(other.mutex("dropped").try_lock().await.unwrap().is_some());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    assert!(
        guard.is_lost(),
        "the guard does not claim what was given up"
    );
    soon("told", guard.lost()).await;
    drop(guard);
}

pub(crate) async fn shutdown_ends_the_waits(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let waiting = with(&client, |client| async move {
        client.mutex("m").lock().await.map(drop)
    });
    let thread = store.thread({
        let client = client.clone();
        move || client.mutex("m").blocking_lock().map(drop)
    });
    waiters(&holder.mutex("m"), 1).await;
    soon("shut down", client.shutdown()).await;
    let ended = soon("the wait ends", waiting).await.unwrap();
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
    let ended = thread.await.unwrap();
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
    waiters(&holder.mutex("m"), 0).await;
}

pub(crate) async fn a_dropped_client_keeps_its_guards_alive(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let guard = client.mutex("m").lock().await.unwrap();
    drop(client);
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    drop(guard);
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
}
