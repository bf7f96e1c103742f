//! The same task takes the same lock twice.
//!
//! In a protected call, "the same task" means the call's body. For a guard taken by hand through a reentrant handle, it
//! means the tokio task, or the thread if there is no task. Any other guard belongs to no task.

use std::time::Duration;

use auto_mutex::{Client, LockError, Mutex, MutexGuard};
use auto_mutex_tests::events::{soon, with};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn a_second_lock_inside_a_protected_body_is_refused(store: &dyn TestStore) {
    let client = store.member();
    let mutex = client.mutex("m");
    let nested = mutex.synchronize(async |guard: &MutexGuard| {
        let error = soon("an answer", client.mutex("m").lock())
            .await
            .unwrap_err();
        assert!(
            matches!(&error, LockError::AlreadyHeld { name, .. } if name == "suite:m"),
            "{error:?}"
        );
        let error = client.mutex("m").blocking_lock().unwrap_err();
        assert!(matches!(error, LockError::AlreadyHeld { .. }), "{error:?}");
        // Another lock can be taken, and the first one is still held.
        let other = client.mutex("other").lock().await.unwrap();
        assert!(other.unlock().await.unwrap());
        guard.check().unwrap();
    });
    soon("the body", nested).await.unwrap();
    // After the release the task may take it again.
    drop(soon("again", client.mutex("m").lock()).await.unwrap());
}

async fn enter_thrice(mutex: Mutex, other: Mutex) {
    let outer = mutex.lock().await.unwrap();
    let inner = soon("the inner lock", mutex.lock()).await.unwrap();
    let innermost = mutex.clone().try_lock().await.unwrap().expect("it is ours");
    assert_eq!(inner.fencing_token(), outer.fencing_token());
    drop(innermost);
    inner.unlock().await.unwrap();
    outer.check().unwrap();
    assert!(
        other.try_lock().await.unwrap().is_none(),
        "the outer guard still holds"
    );
    assert!(outer.unlock().await.unwrap());
    drop(soon("free at last", other.lock()).await.unwrap());
}

pub(crate) async fn a_reentrant_handle_enters_again(store: &dyn TestStore) {
    let (mutex, other) = (
        store.member().mutex("m").reentrant(),
        store.member().mutex("m"),
    );
    soon(
        "three times",
        tokio::spawn(enter_thrice(mutex.clone(), other)),
    )
    .await
    .unwrap();
    store
        .thread(move || {
            let outer = mutex.blocking_lock().unwrap();
            let inner = mutex.blocking_lock().unwrap();
            assert_eq!(inner.fencing_token(), outer.fencing_token());
        })
        .await
        .unwrap();
}

pub(crate) async fn a_reentrant_handle_enters_a_protected_body_again(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = client.mutex("m");
    let outer = mutex.synchronize(async |outer: &MutexGuard| {
        let mutex = client.mutex("m").reentrant();
        let body = mutex
            .synchronize(async |inner: &MutexGuard| inner.fencing_token() == outer.fencing_token());
        assert!(soon("the inner body", body).await.unwrap());
        assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    });
    soon("the outer body", outer).await.unwrap();
    drop(soon("free at last", other.mutex("m").lock()).await.unwrap());
}

pub(crate) async fn a_reentrant_handle_lets_no_other_task_in(store: &dyn TestStore) {
    let client = store.member();
    let mutex = client
        .mutex("m")
        .reentrant()
        .block(Duration::from_millis(100));
    let (held, go_on) = tokio::sync::oneshot::channel();
    let holder = with(&mutex, |mutex| async move {
        let _outer = mutex.lock().await.unwrap();
        held.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    soon("it is held", go_on).await.unwrap();
    let other = with(&mutex, |mutex| async move { mutex.lock().await.map(drop) });
    let error = soon("an answer", other).await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    let error = store
        .thread(move || mutex.blocking_lock().map(drop))
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        error.is_timeout(),
        "another thread is another owner: {error:?}"
    );
    holder.abort();
}

/// The handle declares that its guards stay with the task that took them.
pub(crate) async fn a_guard_of_a_reentrant_handle_counts_for_every_handle(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let task = tokio::spawn(async move {
        let outer = client.mutex("m").reentrant().lock().await.unwrap();
        let another = client.mutex("m").reentrant();
        let inner = soon("another handle", another.lock()).await.unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
        let plain = client.mutex("m");
        let refused = soon("an answer", plain.lock()).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, LockError::AlreadyHeld { .. }), "{error:?}");
        drop(inner);
        outer.check().unwrap();
        assert!(other.mutex("m").try_lock().await.unwrap().is_none());
        drop(outer);
        // When the guard ends, the hold ends, also for the task.
        soon("free", client.mutex("m").lock()).await.map(drop)
    });
    soon("the task", task).await.unwrap().unwrap();
}

/// A guard can move to another task without the library knowing.
pub(crate) async fn any_other_guard_counts_for_no_task(store: &dyn TestStore) {
    let client = store.member();
    let task = tokio::spawn(async move {
        let guard = client.mutex("m").lock().await.unwrap();
        let token = guard.fencing_token();
        let (moved, receives) = tokio::sync::oneshot::channel();
        moved.send(guard).unwrap();
        let asks = client.mutex("m").reentrant();
        let call = tokio::spawn(async move {
            let guard = receives.await.unwrap();
            tokio::task::yield_now().await;
            drop(guard);
        });
        // The task that took the guard waits for the one that has it now.
        let next = soon("the lock", asks.lock()).await.unwrap();
        assert!(next.fencing_token() > token, "it entered the other's hold");
        soon("the other task", call).await.unwrap();
    });
    soon("the task", task).await.unwrap();
}

/// Another branch of the task isn't inside of the body.
pub(crate) async fn only_the_body_of_a_reentrant_handle_enters_again(store: &dyn TestStore) {
    async fn refused(name: &str, client: &Client) {
        let again = client.mutex(name).reentrant().block(Duration::ZERO);
        let error = again.lock().await.map(drop).unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
    }
    let client = store.member();
    let task = tokio::spawn(async move {
        for name in ["m", "several", "w"] {
            let (begun, has_begun) = tokio::sync::oneshot::channel();
            let (end, ends) = tokio::sync::oneshot::channel::<()>();
            let inside = async || {
                begun.send(()).unwrap();
                ends.await.unwrap();
            };
            let body = async {
                match name {
                    "m" => {
                        client
                            .mutex(name)
                            .reentrant()
                            .synchronize(async |_| inside().await)
                            .await
                    }
                    "w" => {
                        client
                            .rw_lock(name)
                            .reentrant()
                            .synchronize_write(async |_| inside().await)
                            .await
                    }
                    _ => {
                        client
                            .multi([name])
                            .reentrant()
                            .synchronize(async |_| inside().await)
                            .await
                    }
                }
            };
            let beside = async {
                has_begun.await.unwrap();
                if name == "w" {
                    let again = client.rw_lock(name).reentrant().block(Duration::ZERO);
                    assert!(again.write().await.map(drop).unwrap_err().is_timeout());
                } else {
                    refused(name, &client).await;
                }
                end.send(()).unwrap();
            };
            let (ended, ()) = tokio::join!(body, beside);
            ended.unwrap();
        }
    });
    soon("the task", task).await.unwrap();
}

/// Guards of one owner share a hold, and each of them belongs to its own task.
pub(crate) async fn each_guard_counts_for_the_task_that_took_it(store: &dyn TestStore) {
    let client = store.member();
    let task = tokio::spawn(async move {
        let owned = client.mutex("m").owner("o").reentrant();
        let plain = client.mutex("m").reentrant().block(Duration::ZERO);
        let first = owned.lock().await.unwrap();
        let (mutex, again) = (owned.clone(), plain.clone());
        let other = tokio::spawn(async move {
            let second = mutex.lock().await.unwrap();
            drop(again.lock().await.unwrap());
            second
        });
        let second = soon("the other task", other).await.unwrap();
        drop(plain.lock().await.unwrap());
        drop(first);
        // The guard that is left is the other task's.
        let error = plain.lock().await.map(drop).unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        drop(second);
    });
    soon("the task", task).await.unwrap();
}
