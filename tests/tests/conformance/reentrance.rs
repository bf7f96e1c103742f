//! The same task takes the same lock twice.
//!
//! In a protected call, "the same task" means the call's body. For a guard taken by hand through a reentrant handle, it
//! means the tokio task, or the thread if there is no task. Any other guard belongs to no task.

use crate::prelude::*;

pub(crate) async fn a_second_lock_inside_a_protected_body_is_refused(store: &dyn TestStore) {
    let [client, far] = store.members();
    let mutex = client.mutex("m");
    let nested = mutex.synchronize(async |guard: &MutexGuard| {
        let refused = soon("an answer", mutex.lock()).await;
        is!(refused, Err(LockError::AlreadyHeld { name, .. }) if name == "suite:m");
        is!(mutex.blocking_lock(), Err(LockError::AlreadyHeld { .. }));
        // A reentrant handle enters.
        let again = mutex.clone().reentrant();
        let body = again.synchronize(async |inner: &MutexGuard| inner.fencing_token());
        let token = soon("the inner body", body).await.unwrap();
        assert_eq!(token, guard.fencing_token());
        assert!(far.mutex("m").try_lock().await.unwrap().is_none());
        // Another lock can be taken, and the first one is still held.
        let other = client.mutex("other").lock().await.unwrap();
        assert!(other.unlock().await.unwrap());
        guard.check().unwrap();
    });
    soon("the body", nested).await.unwrap();
    // After the release the task may take it again.
    drop(soon("again", mutex.lock()).await.unwrap());
}

async fn enter_thrice(mutex: Mutex, other: Mutex) {
    let outer = mutex.lock().await.unwrap();
    let inner = soon("the inner lock", mutex.lock()).await.unwrap();
    let innermost = mutex.clone().try_lock().await.unwrap().expect("it is ours");
    assert_eq!(inner.fencing_token(), outer.fencing_token());
    drop(innermost);
    inner.unlock().await.unwrap();
    outer.check().unwrap();
    let tried = other.try_lock().await.unwrap();
    assert!(tried.is_none(), "the outer guard still holds");
    assert!(outer.unlock().await.unwrap());
    drop(soon("free at last", other.lock()).await.unwrap());
}

pub(crate) async fn a_reentrant_handle_enters_again(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m").reentrant();
    let task = tokio::spawn(enter_thrice(mutex.clone(), other.mutex("m")));
    soon("three times", task).await.unwrap();
    let thread = store.thread(move || {
        let outer = mutex.blocking_lock().unwrap();
        let inner = mutex.blocking_lock().unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
    });
    thread.await.unwrap();
}

pub(crate) async fn a_reentrant_handle_lets_no_other_task_in(store: &dyn TestStore) {
    let mutex = store.member().mutex("m").reentrant();
    let mutex = mutex.block(Duration::from_millis(100));
    let (held, go_on) = tokio::sync::oneshot::channel();
    let holder = with(&mutex, |mutex| async move {
        let _outer = mutex.lock().await.unwrap();
        held.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    soon("it is held", go_on).await.unwrap();
    let task = with(&mutex, |mutex| async move { mutex.lock().await.map(drop) });
    let thread = store.thread(move || mutex.blocking_lock().map(drop));
    for other in [task, thread] {
        is!(
            soon("an answer", other).await.unwrap(),
            Err(LockError::Timeout { .. })
        );
    }
    holder.abort();
}

/// The handle declares that its guards stay with the task that took them.
pub(crate) async fn a_guard_of_a_reentrant_handle_counts_for_every_handle(store: &dyn TestStore) {
    let [client, other] = store.members();
    let task = tokio::spawn(async move {
        let outer = client.mutex("m").reentrant().lock().await.unwrap();
        let another = client.mutex("m").reentrant();
        let inner = soon("another handle", another.lock()).await.unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
        let plain = client.mutex("m");
        is!(
            soon("an answer", plain.lock()).await,
            Err(LockError::AlreadyHeld { .. })
        );
        drop(inner);
        outer.check().unwrap();
        assert!(other.mutex("m").try_lock().await.unwrap().is_none());
        drop(outer);
        // When the guard ends, the hold ends, also for the task.
        soon("free", plain.lock()).await.map(drop)
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
    let client = store.member();
    let mutex = client.mutex("m").reentrant();
    let several = client.multi(["several"]).reentrant();
    let writes = client.rw_lock("w").reentrant();
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
                    "m" => mutex.synchronize(async |_| inside().await).await,
                    "w" => writes.synchronize_write(async |_| inside().await).await,
                    _ => several.synchronize(async |_| inside().await).await,
                }
            };
            let beside = async {
                has_begun.await.unwrap();
                let refused = match name {
                    "w" => writes.clone().block("0s").write().await.map(drop),
                    _ => client
                        .mutex(name)
                        .reentrant()
                        .block("0s")
                        .lock()
                        .await
                        .map(drop),
                };
                is!(refused, Err(LockError::Timeout { .. }));
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
        is!(plain.lock().await, Err(LockError::Timeout { .. }));
        drop(second);
    });
    soon("the task", task).await.unwrap();
}
