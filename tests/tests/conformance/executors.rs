//! The client works in any executor, in several at once, without one, and after its executor has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use auto_mutex_tests::runtimes::{current_thread, multi_thread, smol};
use tokio::task::{LocalSet, unconstrained};

use crate::prelude::*;

fn is_free(client: &Client, name: &str) -> bool {
    !client.mutex(name).blocking_is_locked().unwrap()
}

pub(crate) async fn tasks_of_a_multi_thread_runtime_share_a_client(store: &dyn TestStore) {
    let client = store.member();
    finishes("all tasks", move || {
        multi_thread().block_on(async {
            let inside = Arc::new(AtomicU32::new(0));
            let tasks = (0..20).map(|_| {
                let (client, inside) = (client.clone(), inside.clone());
                tokio::spawn(async move {
                    let _guard = client.mutex("m").lock().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                })
            });
            ended("all tasks", tasks.collect::<Vec<_>>()).await;
        });
    });
}

pub(crate) async fn another_executor_needs_no_tokio(store: &dyn TestStore) {
    let [a, b] = store.members();
    let order = finishes("smol runs both", move || {
        smol(async {
            let first = a.mutex("m").lock().await.unwrap();
            let waiter = async {
                let second = b.mutex("m").lock().await.unwrap();
                second.fencing_token()
            };
            let holder = async {
                while a.mutex("m").info().await.unwrap().waiters.is_empty() {
                    ::smol::future::yield_now().await;
                }
                let token = first.fencing_token();
                first.unlock().await.unwrap();
                token
            };
            ::smol::future::zip(holder, waiter).await
        })
    });
    assert!(order.0 < order.1);
}

pub(crate) async fn plain_threads_need_no_runtime(store: &dyn TestStore) {
    let client = store.member();
    let inside = Arc::new(AtomicU32::new(0));
    let threads = [(); 4].map(|()| {
        let (client, inside) = (client.clone(), inside.clone());
        thread::spawn(move || {
            for _ in 0..10 {
                let guard = client.mutex("m").blocking_lock().unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(guard);
            }
        })
    });
    finishes("all threads get in", move || {
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

pub(crate) async fn the_client_outlives_the_runtime_that_used_it_first(store: &dyn TestStore) {
    let client = store.member();
    finishes("three runtimes", move || {
        for _ in 0..3 {
            current_thread().block_on(async {
                let guard = client.mutex("m").lock().await.unwrap();
                guard.unlock().await.unwrap();
            });
        }
        smol(async { client.mutex("m").lock().await.map(drop).unwrap() });
    });
}

/// Its drop on a thread without a runtime releases the lock.
pub(crate) async fn a_guard_outlives_the_runtime_that_made_it(store: &dyn TestStore) {
    let [holder, other] = store.members();
    finishes("the lock is kept, then released", move || {
        let runtime = multi_thread();
        let guard = runtime.block_on(holder.mutex("m").lock()).unwrap();
        drop(runtime);
        // Renewals need no runtime of the program.
        guard.blocking_refresh("600s").unwrap();
        assert!(other.mutex("m").blocking_try_lock().unwrap().is_none());
        finishes("released elsewhere", move || {
            guard.check().unwrap();
            drop(guard);
        });
        eventually("the drop releases", || is_free(&other, "m"));
    });
}

pub(crate) async fn a_blocking_wait_that_stops_its_own_holder_is_refused(store: &dyn TestStore) {
    let client = store.member();
    let error = finishes("the wait is refused", move || {
        current_thread().block_on(async {
            let holder = with(&client, |client| async move {
                let _guard = client.mutex("m").lock().await.unwrap();
                std::future::pending::<()>().await;
            });
            while !client.mutex("m").is_locked().await.unwrap() {
                tokio::task::yield_now().await;
            }
            // This blocks the only thread on which the holder could continue.
            let error = client.mutex("m").blocking_lock().map(drop).unwrap_err();
            holder.abort();
            error
        })
    });
    is!(error, LockError::Deadlock { .. });
    let again = store.member().mutex("m");
    drop(
        soon("the holder was cancelled", again.lock())
            .await
            .unwrap(),
    );
}

/// A task without tokio's cooperative budget is still a task, so its blocking wait is refused.
pub(crate) async fn an_unconstrained_task_is_refused_too(store: &dyn TestStore) {
    let client = store.member();
    finishes("the wait is refused", move || {
        let _guard = current_thread().block_on(unconstrained(async {
            let guard = client.mutex("m").lock().await.unwrap();
            let refused = |client: &Client| {
                is!(
                    client.mutex("m").blocking_lock(),
                    Err(LockError::Deadlock { .. })
                );
                let several = client.multi(["a", "m"]);
                is!(several.blocking_lock(), Err(LockError::Deadlock { .. }));
            };
            refused(&client);
            // A call that does not wait is no deadlock.
            let mutex = client.mutex("m").block(Duration::ZERO);
            is!(mutex.blocking_lock(), Err(LockError::Timeout { .. }));
            // The wait is also refused in a spawned task, in a local task, and in a task of another executor.
            let other = client.clone();
            let task = unconstrained(async move { refused(&other) });
            tokio::spawn(task).await.unwrap();
            let other = client.clone();
            let task = unconstrained(async move { refused(&other) });
            let local = async { tokio::task::spawn_local(task).await.unwrap() };
            LocalSet::new().run_until(local).await;
            smol(unconstrained(async { refused(&client) }));
            guard
        }));
        // Outside of tasks, no blocking wait is refused.
        let mutex = client.mutex("m").block(Duration::from_millis(1));
        let runtime = current_thread();
        let _entered = runtime.enter();
        is!(mutex.blocking_lock(), Err(LockError::Timeout { .. }));
    });
}

pub(crate) async fn a_blocking_wait_beside_the_runtime_is_no_deadlock(store: &dyn TestStore) {
    let client = store.member();
    finishes("both get in", move || {
        // There is only one thread for blocking calls, so the second call runs on the same thread as the first.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let take = |client: Client| {
                tokio::task::spawn_blocking(move || client.mutex("m").blocking_lock())
            };
            let first = take(client.clone()).await.unwrap().unwrap();
            let second = take(client.clone());
            while client.mutex("m").info().await.unwrap().waiters.is_empty() {
                assert!(!second.is_finished(), "refused");
                tokio::task::yield_now().await;
            }
            drop(first);
            drop(second.await.unwrap().unwrap());
        });
    });
}

/// A client that looks for blocked workers soon, and the name of a lock that only this test uses.
fn looks_soon(store: &dyn TestStore) -> (Client, String) {
    let config = store.config().deadlock_after(Duration::from_millis(50));
    (Client::connect(config).unwrap(), listen())
}

fn with_workers(count: usize) -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(count).build().unwrap()
}

pub(crate) async fn workers_that_all_wait_for_a_task_of_theirs_are_reported(store: &dyn TestStore) {
    let (client, name) = looks_soon(store);
    let runtime = with_workers(2);
    let (held, is_held) = tokio::sync::oneshot::channel();
    let (release, goes_on) = tokio::sync::oneshot::channel::<()>();
    let mutex = client.mutex(&name);
    let holder = runtime.spawn(async move {
        let body = async |_: &_| {
            held.send(()).unwrap();
            goes_on.await
        };
        mutex.synchronize(body).await
    });
    soon("it is held", is_held).await.unwrap();
    let blocked = [(); 2].map(|()| {
        let mutex = client.mutex(&name);
        // A sync call in async code: the mistake that the warning is about.
        runtime.spawn(async move { mutex.blocking_lock().map(drop) })
    });
    let full = format!("name=suite:{name} ");
    let told = || told(&[BLOCKED, &full]);
    becomes!("the workers are reported", !told().is_empty());
    release.send(()).unwrap();
    // The holder can't run on, although its body could end.
    assert!(!holder.is_finished());
    let [text] = &told()[..] else {
        panic!("one warning");
    };
    assert!(text.contains("workers=2"), "{text}");
    assert_eq!(text.matches("executors.rs").count(), 2, "{text}");
    assert!(client.mutex(name).force_unlock().await.unwrap());
    for call in ended("the call", blocked).await {
        call.unwrap();
    }
    let _ = soon("the holder", holder).await.unwrap();
    runtime.shutdown_background();
}

pub(crate) async fn a_holder_that_can_run_on_is_not_reported(store: &dyn TestStore) {
    let (client, name) = looks_soon(store);
    let runtime = with_workers(1);
    let mutex = || client.mutex(&name);
    for holder_is_a_task in [false, true] {
        let (takes, waits): (Mutex, Mutex) = (mutex(), mutex());
        let (guard, call) = if holder_is_a_task {
            // The waiting thread isn't a worker.
            let taken = runtime.spawn(async move { takes.lock().await });
            let guard = soon("the guard", taken).await.unwrap().unwrap();
            let call = runtime.spawn_blocking(move || waits.blocking_lock().map(drop));
            (guard, call)
        } else {
            let guard = takes.lock().await.unwrap();
            (
                guard,
                runtime.spawn(async move { waits.blocking_lock().map(drop) }),
            )
        };
        becomes!(
            "it waits",
            !mutex().info().await.unwrap().waiters.is_empty()
        );
        // Long enough for several searches.
        tokio::time::sleep(Duration::from_millis(400)).await;
        drop(guard);
        soon("the call", call).await.unwrap().unwrap();
    }
    assert_eq!(told(&[BLOCKED, &format!("name=suite:{name} ")]), [""; 0]);
    runtime.shutdown_background();
}
