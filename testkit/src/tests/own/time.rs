use auto_mutex_core::store::RandomId;
use auto_mutex_core::{LockError, LossCause};

use super::*;

#[test]
fn a_wait_takes_its_time() {
    run(Runs::new().seeds(10), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let guard = a.mutex("x").lock().await.unwrap();
        let error = b.mutex("x").block("10s").lock().await.unwrap_err();
        let LockError::Timeout { waited, holder, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(waited, 10 * SECOND);
        assert_eq!(world.now(), 10 * SECOND);
        assert!(holder.unwrap().to_string().contains('a'));
        drop(guard);
        world.idle().await;
        drop(b.mutex("x").try_lock().await.unwrap().unwrap());
        assert_eq!(world.now(), 10 * SECOND);
        world.assert_no_overlap();
        world.assert_all_released();
    });
}

#[test]
fn what_falls_due_happens_in_order() {
    run(Runs::new().seeds(10), |world| async move {
        let a = world.client("a");
        let _first = a.mutex("first").expire("2s").lock().await.unwrap();
        let _second = a.mutex("second").expire("7s").lock().await.unwrap();
        let _kept = a.mutex("kept").lock().await.unwrap();
        world.advance(100 * SECOND).await;
        world.assert_order(["a lost first: its `expire`", "a lost second: its `expire`"]);
        assert_eq!(world.now(), 100 * SECOND);
        assert_eq!(a.mutex("kept").info().await.unwrap().holders.len(), 1);
    });
}

#[test]
fn blocking_code_takes_turns() {
    run(Runs::new().seeds(20), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let mutex = a.mutex("x");
        let first = world.thread(&a, move || {
            let guard = mutex.blocking_lock().unwrap();
            crate::sleep(5 * SECOND);
            guard.fencing_token()
        });
        let mutex = b.mutex("x").block("2s");
        let second = world.thread(&b, move || {
            mutex.blocking_lock().map(|guard| guard.fencing_token())
        });
        let (first, second) = (first.await, second.await);
        if let Ok(second) = second {
            assert!(second < first);
        }
        world.assert_no_overlap();
    });
}

#[test]
fn a_drain_takes_no_real_time() {
    run(Runs::new(), |world| async move {
        let a = world.client("a");
        let mutex = a.mutex("x");
        let body = world.on(&a, async move {
            let _guard = mutex.lock().await.unwrap();
            sleep(5).await;
        });
        world.idle().await;
        let drained = a.drain("20s").await.unwrap();
        assert!(drained.is_complete(), "{drained}");
        body.await;
        assert!(world.now() < 6 * SECOND, "{:?}", world.now());
        let error = a.mutex("x").lock().await.unwrap_err();
        assert!(matches!(error, LockError::ShutDown));
    });
}

#[test]
fn a_held_runtime_moves_by_the_test_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new();
        let (a, b) = (world.client("a"), world.client("b"));
        let guard = a.mutex("x").lock().await.unwrap();
        let waits = world.on(&b, {
            let mutex = b.mutex("x").block("10s");
            async move { mutex.lock().await.map(drop) }
        });
        world.advance(9 * SECOND).await;
        assert!(!waits.is_finished());
        world.advance(SECOND).await;
        assert!(waits.await.unwrap_err().is_timeout());
        assert!(!guard.is_lost());
    });
}

#[test]
fn a_sync_body_is_told_of_the_loss() {
    run(Runs::new().seeds(5), |world| async move {
        let a = world.client("a");
        let mutex = a.mutex("x");
        let body = world.thread(&a, move || {
            let guard = mutex.blocking_lock().unwrap();
            while guard.check().is_ok() {
                crate::sleep(SECOND);
            }
            guard.check().unwrap_err()
        });
        world.idle().await;
        world.force_unlock(&a);
        let LockError::Lost { cause, .. } = body.await else {
            panic!();
        };
        assert_eq!(cause, LossCause::Forced);
    });
}

#[test]
fn a_blocking_task_reads_the_same_clock() {
    run(Runs::new(), |world| async move {
        let a = world.client("a");
        world.advance(5000 * SECOND).await;
        let mutex = a.mutex("x");
        let held = tokio::task::spawn_blocking(move || {
            let guard = mutex.blocking_lock().unwrap();
            guard.check().map(|()| guard)
        });
        let guard = held.await.unwrap().unwrap();
        assert!(!guard.is_lost());
    });
}

#[test]
#[should_panic = "six hours of virtual time have passed"]
fn a_wait_without_end_ends() {
    run(Runs::new(), |world| async move {
        let _held = world.client("a").mutex("x").lock().await.unwrap();
        std::future::pending::<()>().await;
    });
}

#[test]
#[should_panic = "Error: Timeout"]
fn an_error_fails_the_test() {
    run(Runs::new(), |_| async {
        Err::<(), _>(LockError::timeout("x"))
    });
}

#[test]
fn a_store_in_memory_is_in_virtual_time_too_and_only_in_a_world() {
    let connect = || auto_mutex_core::Client::connect("memory://in-a-world").unwrap();
    run(Runs::new(), move |world| async move {
        let (a, b) = (connect(), connect());
        let _held = a.mutex("x").lock().await.unwrap();
        let error = b.mutex("x").block("20s").lock().await.unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(world.now(), 20 * SECOND);
    });
    // No runtime, so it has a thread of its own, with ids that are not those of the seed.
    let client = connect();
    drop(client.mutex("x").blocking_lock().unwrap());
    client.blocking_shutdown();
    let draw = || auto_mutex_core::store::Ticket::random();
    let ids = [(); 2].map(|()| {
        run(Runs::new(), |_| async {});
        draw()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_test_without_async_code_has_all_of_the_world() {
    crate::run_blocking(Runs::new().seeds(5), |world| {
        let (a, b) = (world.client("a"), world.client("b"));
        let guard = a.mutex("x").blocking_lock().unwrap();
        let mutex = b.mutex("x").block("10s");
        let waits = world.thread(&b, move || mutex.blocking_lock().map(drop));
        world.blocking_advance(10 * SECOND);
        assert!(waits.blocking_join().unwrap_err().is_timeout());
        drop(guard);
        world.blocking_idle();
        assert!(b.mutex("x").blocking_try_lock().unwrap().is_some());
        assert!(a.blocking_drain("1s").unwrap().is_complete());
        assert_eq!(world.now(), 10 * SECOND);
        Ok::<_, LockError>(())
    });
}

#[test]
#[should_panic = "call it from `World::thread`"]
fn a_call_that_blocks_all_tasks_is_found() {
    run(Runs::new(), |world| async move {
        drop(world.client("a").mutex("x").blocking_lock());
    });
}

struct Asserts;

impl auto_mutex_core::Observer for Asserts {
    fn add(
        &self,
        metric: auto_mutex_core::Metric,
        _: &[(&'static str, &'static str)],
        change: i64,
    ) {
        assert!(
            metric != auto_mutex_core::Metric::Lost || change == 0,
            "a lock is lost"
        );
    }

    fn record(&self, _: auto_mutex_core::Metric, _: &[(&'static str, &'static str)], _: Duration) {}
}

#[test]
#[should_panic = "a lock is lost"]
fn a_panic_in_the_background_of_a_client_fails_the_test() {
    run(Runs::new(), |world| async move {
        let a = auto_mutex_core::Client::connect(world.config("a").observer(Asserts)).unwrap();
        let _guard = a.mutex("x").lock().await.unwrap();
        world.force_unlock("x").await;
    });
}
