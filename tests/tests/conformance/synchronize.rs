//! A body under a lock.

use std::cell::Cell;

use crate::prelude::*;

pub(crate) async fn it_returns_what_the_body_returns_and_releases(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (mutex, other) = (client.mutex("m"), other.mutex("m"));
    let body = mutex.synchronize(async |guard: &MutexGuard| {
        guard.check().unwrap();
        assert!(other.try_lock().await.unwrap().is_none());
        guard.fencing_token()
    });
    assert!(body.await.unwrap() > 0);
    drop(soon("released", other.lock()).await.unwrap());
    // An error of the body is a value like any other.
    let body = mutex.synchronize(async |_: &MutexGuard| Err::<(), _>("no"));
    assert_eq!(body.await.unwrap(), Err("no"));
    drop(soon("released after an Err", other.lock()).await.unwrap());
}

pub(crate) async fn it_releases_when_the_body_panics(store: &dyn TestStore) {
    let [client, other] = store.members();
    let task = tokio::spawn(async move {
        let mutex = client.mutex("m");
        let body = mutex.synchronize(async |_: &MutexGuard| {
            tokio::task::yield_now().await;
            panic!("meant");
        });
        body.await
    });
    assert!(soon("the panic", task).await.unwrap_err().is_panic());
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
}

pub(crate) async fn a_lost_lock_cancels_the_body(store: &dyn TestStore) {
    struct OnDrop<'a>(&'a Cell<bool>);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let [client, breaker] = store.members();
    let dropped = Cell::new(false);
    let mutex = client.mutex("m");
    let body = mutex.synchronize(async |_: &MutexGuard| {
        let _mark = OnDrop(&dropped);
        assert!(breaker.mutex("m").force_unlock().await.unwrap());
        std::future::pending::<()>().await;
    });
    let ended = soon("the body is cancelled", body).await;
    is!(ended, Err(LockError::Lost { name, .. }) if name == "suite:m");
    assert!(dropped.get());
}

pub(crate) async fn the_blocking_twin_releases_too(store: &dyn TestStore) {
    let [client, other] = store.members();
    let thread = store.thread(move || {
        let seven = client.mutex("m").blocking_synchronize(|guard| {
            guard.check().unwrap();
            assert!(other.mutex("m").blocking_try_lock().unwrap().is_none());
            7
        });
        assert_eq!(seven.unwrap(), 7);
        drop(other.mutex("m").blocking_lock().unwrap());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            client.mutex("m").blocking_synchronize(|_| panic!("meant"))
        }));
        assert!(panicked.is_err());
        drop(other.mutex("m").blocking_lock().unwrap());
    });
    thread.await.unwrap();
}
