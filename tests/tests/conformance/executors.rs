//! The client works in any executor, in several at once, without one, and after its executor has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use auto_mutex::{Client, LockError, Mutex};
use auto_mutex_tests::events::{becomes, eventually, finishes, soon, with};
use auto_mutex_tests::runtimes::{current_thread, multi_thread, smol};
use auto_mutex_tests::stores::TestStore;

use crate::hears::{BLOCKED, listen, told};

fn is_free(client: &Client, name: &str) -> bool {
    !client.mutex(name).blocking_is_locked().unwrap()
}

pub(crate) async fn tasks_of_a_multi_thread_runtime_share_a_client(store: &dyn TestStore) {
    let client = store.member();
    finishes("all tasks", move || {
        let runtime = multi_thread();
        runtime.block_on(async {
            let inside = Arc::new(AtomicU32::new(0));
            let tasks: Vec<_> = (0..20)
                .map(|_| {
                    let (client, inside) = (client.clone(), inside.clone());
                    tokio::spawn(async move {
                        let _guard = client.mutex("m").lock().await.unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

pub(crate) async fn another_executor_needs_no_tokio(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
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
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (client, inside) = (client.clone(), inside.clone());
            thread::spawn(move || {
                for _ in 0..10 {
                    let guard = client.mutex("m").blocking_lock().unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            })
        })
        .collect();
    finishes("all threads get in", move || {
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

pub(crate) async fn blocking_calls_work_inside_a_runtime(store: &dyn TestStore) {
    let client = store.member();
    let guard = client.mutex("m").blocking_lock().unwrap();
    assert!(client.mutex("m").blocking_is_locked().unwrap());
    assert!(guard.blocking_unlock().unwrap());
    assert!(client.mutex("m").blocking_try_lock().unwrap().is_some());
}

pub(crate) async fn the_client_outlives_the_runtime_that_used_it_first(store: &dyn TestStore) {
    let client = store.member();
    finishes("three runtimes", move || {
        for _ in 0..3 {
            let runtime = current_thread();
            runtime.block_on(async {
                let guard = client.mutex("m").lock().await.unwrap();
                guard.unlock().await.unwrap();
            });
            drop(runtime);
        }
        smol(async { client.mutex("m").lock().await.map(drop).unwrap() });
    });
}

pub(crate) async fn a_guard_outlives_the_runtime_that_made_it(store: &dyn TestStore) {
    let (holder, other) = (store.brief_member(), store.member());
    finishes("the lock is kept, then released", move || {
        let runtime = multi_thread();
        let guard = runtime.block_on(holder.mutex("m").lock()).unwrap();
        drop(runtime);
        // Renewals need no runtime of the program: the lock is still held after more than its lease.
        thread::sleep(auto_mutex_tests::stores::BRIEF * 5 / 4);
        guard.check().unwrap();
        assert!(other.mutex("m").blocking_try_lock().unwrap().is_none());
        drop(guard);
        eventually("the drop releases", || is_free(&other, "m"));
    });
}

pub(crate) async fn a_guard_is_dropped_in_a_thread_without_a_runtime(store: &dyn TestStore) {
    let (holder, other) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    finishes("the lock is free", move || {
        drop(guard);
        eventually("the drop releases", || is_free(&other, "m"));
    });
}

pub(crate) async fn a_guard_travels_between_threads(store: &dyn TestStore) {
    let (holder, other) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let guard = finishes("a round trip", move || {
        guard.check().unwrap();
        guard
    });
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    let released = finishes("released elsewhere", move || guard.blocking_unlock());
    assert!(released.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
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
    assert!(matches!(error, LockError::Deadlock { .. }), "{error:?}");
    let again = store.member();
    drop(
        soon("the holder was cancelled", again.mutex("m").lock())
            .await
            .unwrap(),
    );
}

/// A task without tokio's cooperative budget is still a task, so its blocking wait is refused.
pub(crate) async fn an_unconstrained_task_is_refused_too(store: &dyn TestStore) {
    let client = store.member();
    finishes("the wait is refused", move || {
        let _guard = current_thread().block_on(tokio::task::unconstrained(async {
            let guard = client.mutex("m").lock().await.unwrap();
            let refused = |client: &Client| {
                let error = client.mutex("m").blocking_lock().map(drop).unwrap_err();
                assert!(matches!(error, LockError::Deadlock { .. }), "{error:?}");
                let error = client.multi(["a", "m"]).blocking_lock().map(drop);
                let error = error.unwrap_err();
                assert!(matches!(error, LockError::Deadlock { .. }), "{error:?}");
            };
            refused(&client);
            // The wait is also refused in a spawned task, in a local task, and in a task of another executor.
            let other = client.clone();
            let task = tokio::task::unconstrained(async move { refused(&other) });
            tokio::spawn(task).await.unwrap();
            let local = tokio::task::LocalSet::new();
            let other = client.clone();
            let task = tokio::task::unconstrained(async move { refused(&other) });
            local
                .run_until(async { tokio::task::spawn_local(task).await.unwrap() })
                .await;
            smol(tokio::task::unconstrained(async { refused(&client) }));
            guard
        }));
        // Outside of tasks, no blocking wait is refused.
        let mutex = client.mutex("m").block(Duration::from_millis(1));
        let runtime = current_thread();
        let _entered = runtime.enter();
        let error = mutex.blocking_lock().map(drop).unwrap_err();
        assert!(matches!(error, LockError::Timeout { .. }), "{error:?}");
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

pub(crate) async fn not_waiting_is_no_deadlock(store: &dyn TestStore) {
    let client = store.member();
    finishes("an answer", move || {
        current_thread().block_on(async {
            let _guard = client.mutex("m").lock().await.unwrap();
            let mutex = client.mutex("m").block(Duration::ZERO);
            let error = mutex.blocking_lock().map(drop).unwrap_err();
            assert!(matches!(error, LockError::Timeout { .. }), "{error:?}");
            let error = client.mutex("m").blocking_lock().map(drop).unwrap_err();
            assert!(matches!(error, LockError::Deadlock { .. }), "{error:?}");
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
    let mutex = client.mutex(name.clone());
    let holder = runtime.spawn(async move {
        let body = async |_: &_| {
            held.send(()).unwrap();
            goes_on.await
        };
        mutex.synchronize(body).await
    });
    soon("it is held", is_held).await.unwrap();
    let blocked: Vec<_> = (0..2)
        .map(|_| {
            let mutex = client.mutex(name.clone());
            // A sync call in async code: the mistake that the warning is about.
            runtime.spawn(async move { mutex.blocking_lock().map(drop) })
        })
        .collect();
    let full = format!("name=suite:{name} ");
    becomes("the workers are reported", async || {
        !told(&[BLOCKED, &full]).is_empty()
    })
    .await;
    release.send(()).unwrap();
    // The holder can't run on, although its body could end.
    assert!(!holder.is_finished());
    let [text] = &told(&[BLOCKED, &full])[..] else {
        panic!("one warning");
    };
    assert!(text.contains("workers=2"), "{text}");
    assert_eq!(text.matches("executors.rs").count(), 2, "{text}");
    assert!(client.mutex(name).force_unlock().await.unwrap());
    for call in blocked {
        soon("the call", call).await.unwrap().unwrap();
    }
    let _ = soon("the holder", holder).await.unwrap();
    runtime.shutdown_background();
}

pub(crate) async fn a_holder_that_can_run_on_is_not_reported(store: &dyn TestStore) {
    let (client, name) = looks_soon(store);
    let runtime = with_workers(1);
    let wait = |mutex: Mutex| runtime.spawn(async move { mutex.blocking_lock().map(drop) });
    let full = format!("name=suite:{name} ");
    let is_waited_for = async || {
        let info = client.mutex(name.clone()).info().await.unwrap();
        !info.waiters.is_empty()
    };

    // The holder isn't a task of the runtime.
    let guard = client.mutex(name.clone()).lock().await.unwrap();
    let call = wait(client.mutex(name.clone()));
    becomes("it waits", is_waited_for).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    drop(guard);
    soon("the call", call).await.unwrap().unwrap();

    // The holder is a task of the runtime, but the waiting thread isn't a worker.
    let mutex = client.mutex(name.clone());
    let taken = runtime.spawn(async move { mutex.lock().await });
    let guard = soon("the guard", taken).await.unwrap().unwrap();
    let mutex = client.mutex(name.clone());
    let call = runtime.spawn_blocking(move || mutex.blocking_lock().map(drop));
    becomes("it waits", is_waited_for).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    drop(guard);
    soon("the call", call).await.unwrap().unwrap();

    assert_eq!(told(&[BLOCKED, &full]), [""; 0]);
    runtime.shutdown_background();
}
