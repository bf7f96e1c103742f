//! The end of a client.

use crate::prelude::*;

pub(crate) async fn a_client_that_was_shut_down_says_so(store: &dyn TestStore) {
    let client = store.member();
    soon("shut down", client.shutdown()).await;
    let mutex = client.mutex("m");
    is!(
        soon("an answer", mutex.lock()).await,
        Err(LockError::ShutDown)
    );
    is!(mutex.try_lock().await, Err(LockError::ShutDown));
    is!(mutex.info().await, Err(LockError::ShutDown));
    is!(mutex.blocking_lock(), Err(LockError::ShutDown));
    // A second shutdown is harmless.
    soon("shut down again", client.shutdown()).await;
    let again = store.thread(move || client.blocking_shutdown());
    again.await.unwrap();
}

pub(crate) async fn shutdown_releases_what_is_held(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = client.mutex("m").lock().await.unwrap();
    drop(client.mutex("dropped").lock().await.unwrap());
    soon("shut down", client.shutdown()).await;
    // The shutdown has sent all releases, so the locks are free at once.
    assert!(other.mutex("dropped").try_lock().await.unwrap().is_some());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    assert!(guard.is_lost(), "it does not claim what was given up");
    soon("told", guard.lost()).await;
}

pub(crate) async fn shutdown_ends_the_waits(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _guard = holder.mutex("m").lock().await.unwrap();
    let waiting = with(&client, |client| async move {
        client.mutex("m").lock().await.map(drop)
    });
    let blocks = client.mutex("m");
    let blocks = store.thread(move || blocks.blocking_lock().map(drop));
    waiters(&holder.mutex("m"), 1).await;
    soon("shut down", client.shutdown()).await;
    is!(
        soon("the wait ends", waiting).await.unwrap(),
        Err(LockError::ShutDown)
    );
    is!(blocks.await.unwrap(), Err(LockError::ShutDown));
    waiters(&holder.mutex("m"), 0).await;
}

pub(crate) async fn a_dropped_client_keeps_its_guards_alive(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = client.mutex("m").lock().await.unwrap();
    drop(client);
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    drop(guard);
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
}
