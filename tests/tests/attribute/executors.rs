//! Calls in other executors, in runtimes that end, and without a runtime.

use auto_mutex::{LockError, auto_mutex};

use crate::support::client;

#[auto_mutex(name = "x")]
async fn short() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "x", keys = [1, 2])]
async fn short_with_keys() -> Result<(), LockError> {
    Ok(())
}

/// Calls `call` again and again until another task of the same thread has run.
async fn until_another_runs(what: &str, call: impl AsyncFn()) {
    let other = tokio::spawn(async {});
    let mut calls = 0;
    while !other.is_finished() {
        assert!(calls < 10_000, "{what}");
        call().await;
        calls += 1;
    }
}

#[tokio::test]
async fn calls_that_never_wait_let_other_tasks_run() {
    let client = client();
    let (mutex, both) = (client.mutex("m"), client.multi(["a", "b"]));
    let (semaphore, rw_lock) = (client.semaphore("s", 2), client.rw_lock("r"));
    until_another_runs("lock", async || drop(mutex.lock().await.unwrap())).await;
    until_another_runs("try_lock", async || drop(mutex.try_lock().await.unwrap())).await;
    until_another_runs("acquire", async || drop(semaphore.acquire().await.unwrap())).await;
    until_another_runs("read", async || drop(rw_lock.read().await.unwrap())).await;
    until_another_runs("several", async || drop(both.lock().await.unwrap())).await;
    until_another_runs("try several", async || drop(both.try_lock().await.unwrap())).await;
    until_another_runs("info", async || drop(mutex.info().await.unwrap())).await;
    let guard = client.mutex("refreshed").lock().await.unwrap();
    until_another_runs("refresh", async || guard.refresh("10s").await.unwrap()).await;
    client
        .scope(async {
            until_another_runs("attribute", async || short().await.unwrap()).await;
            until_another_runs("keys", async || short_with_keys().await.unwrap()).await;
        })
        .await;
}

/// Tokio wakes a task without budget when the task yields; a thread that is blocked inside the task never does.
#[tokio::test]
async fn an_executor_inside_a_task_needs_no_budget() {
    let client = client();
    for _ in 0..1000 {
        drop(smol::block_on(client.mutex("m").lock()).unwrap());
        drop(client.multi(["a", "b"]).blocking_lock().unwrap());
    }
}
