//! A body under a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use auto_mutex::{LockError, MutexGuard};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn it_returns_what_the_body_returns_and_releases(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = client.mutex("m");
    let token = mutex
        .synchronize(async |guard: &MutexGuard| {
            guard.check().unwrap();
            assert!(other.mutex("m").try_lock().await.unwrap().is_none());
            guard.fencing_token()
        })
        .await
        .unwrap();
    assert!(token > 0);
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
    // An error of the body is a value like any other.
    let body: Result<(), &str> = mutex
        .synchronize(async |_: &MutexGuard| Err("no"))
        .await
        .unwrap();
    assert_eq!(body, Err("no"));
    drop(
        soon("released after an Err", other.mutex("m").lock())
            .await
            .unwrap(),
    );
}

pub(crate) async fn it_releases_when_the_body_panics(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let task = tokio::spawn(async move {
        client
            .mutex("m")
            .synchronize(async |_: &MutexGuard| {
                tokio::task::yield_now().await;
                panic!("meant");
            })
            .await
    });
    assert!(soon("the panic", task).await.unwrap_err().is_panic());
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
}

pub(crate) async fn a_lost_lock_cancels_the_body(store: &dyn TestStore) {
    let (client, breaker) = (store.member(), store.member());
    let finished = Arc::new(AtomicBool::new(false));
    let dropped = Arc::new(AtomicBool::new(false));
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let mutex = client.mutex("m");
    let body = mutex.synchronize(async |_: &MutexGuard| {
        let _mark = OnDrop(dropped.clone());
        assert!(breaker.mutex("m").force_unlock().await.unwrap());
        // Longer than the test waits: only the cancellation ends this sleep.
        tokio::time::sleep(Duration::from_secs(3600)).await;
        finished.store(true, Ordering::SeqCst);
    });
    let error = soon("the body is cancelled", body).await.unwrap_err();
    assert!(
        matches!(&error, LockError::Lost { name, .. } if name == "suite:m"),
        "{error:?}"
    );
    assert!(dropped.load(Ordering::SeqCst) && !finished.load(Ordering::SeqCst));
}

pub(crate) async fn the_blocking_twin_releases_too(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    store
        .thread(move || {
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
        })
        .await
        .unwrap();
}

pub(crate) async fn it_can_be_spawned(store: &dyn TestStore) {
    let client = store.member();
    let task = tokio::spawn(async move {
        let mutex = client.mutex("m");
        mutex
            .synchronize(async |guard: &MutexGuard| guard.fencing_token())
            .await
    });
    assert!(soon("the task", task).await.unwrap().unwrap() > 0);
}
