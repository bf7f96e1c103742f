//! Calls in other executors, in runtimes that end, and without a runtime.

use auto_mutex::{LockError, auto_mutex};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::support::{Witness, client, named_client};

#[auto_mutex(name = "x")]
async fn visit(witness: Witness) -> Result<u32, LockError> {
    let _inside = witness.enter();
    for _ in 0..5 {
        smol::future::yield_now().await;
    }
    Ok(1)
}

#[auto_mutex(name = "x")]
fn blocking_visit(witness: &Witness) -> Result<u32, LockError> {
    witness.blocking_visit();
    Ok(1)
}

#[test]
fn smol_and_threads_and_tokio_share_one_lock() {
    let (client, witness) = (client(), Witness::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                smol::block_on(async {
                    let calls = (0..4).map(|_| smol::spawn(client.scope(visit(witness.clone()))));
                    for call in calls.collect::<Vec<_>>() {
                        assert_eq!(call.await.unwrap(), 1);
                    }
                });
            });
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let calls = (0..4).map(|_| tokio::spawn(client.scope(visit(witness.clone()))));
                    for call in calls.collect::<Vec<_>>() {
                        assert_eq!(call.await.unwrap().unwrap(), 1);
                    }
                });
            });
            scope.spawn(|| client.blocking_scope(|| blocking_visit(&witness)).unwrap());
        }
    });
    assert_eq!((witness.calls(), witness.most()), (18, 1));
}

#[test]
fn a_runtime_that_ends_gives_its_locks_back() {
    #[auto_mutex(name = "x")]
    async fn forever() -> Result<(), LockError> {
        std::future::pending().await
    }
    let client = named_client();
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let call = tokio::spawn(client.scope(forever()));
            while !client.mutex("x").is_locked().await.unwrap() {
                assert!(!call.is_finished());
            }
        });
        drop(runtime);
    }
    drop(client.mutex("x").blocking_lock().unwrap());
}

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

/// A future inside a task may be polled with its own waker.
#[tokio::test]
async fn a_part_of_a_task_lets_other_tasks_run() {
    let mutex = client().mutex("m");
    let mut parts: FuturesUnordered<_> = [async {
        until_another_runs("lock", async || drop(mutex.lock().await.unwrap())).await;
    }]
    .into_iter()
    .collect();
    parts.next().await.unwrap();
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
