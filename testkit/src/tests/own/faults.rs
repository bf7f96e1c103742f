use auto_mutex_core::{Client, Config, LockError, LossCause};

use super::*;
use crate::{Operation, StoreErrorKind};

/// The error of a body that only waits, on the host of `client`.
async fn loses(world: &World, client: &Client) -> LockError {
    let mutex = client.mutex("x");
    let body = world.on(client, async move {
        mutex
            .synchronize(async |_| std::future::pending::<Result<(), LockError>>().await)
            .await
    });
    body.await.unwrap_err()
}

pub(super) fn cause(error: &LockError) -> LossCause {
    match error {
        LockError::Lost { cause, .. } => *cause,
        error => panic!("{error}"),
    }
}

/// A fault, and the cause of the loss that it leads to.
type Case = (fn(&World, &Client), LossCause);

#[test]
fn each_fault_has_its_loss() {
    let cases: [Case; 7] = [
        (|world, a| drop(world.lose(a)), LossCause::Forgotten),
        (|world, _| drop(world.lose("x")), LossCause::Forgotten),
        (
            |world, a| drop(world.expire_lease(a)),
            LossCause::NotRenewed,
        ),
        (|world, a| drop(world.force_unlock(a)), LossCause::Forced),
        (|world, a| drop(world.disconnect(a)), LossCause::NotRenewed),
        (|world, _| drop(world.restart_empty()), LossCause::Forgotten),
        (|world, a| drop(world.fork(a)), LossCause::Forked),
    ];
    for (strike, expected) in cases {
        run(Runs::new().seeds(10), |world| async move {
            let (a, b) = (world.client("a"), world.client("b"));
            let (faults, client) = (world.clone(), a.clone());
            tokio::spawn(async move {
                sleep(1).await;
                strike(&faults, &client);
            });
            if expected == LossCause::Forked {
                let guard = a.mutex("x").lock().await.unwrap();
                sleep(2).await;
                assert_eq!(cause(&guard.check().unwrap_err()), expected);
                return;
            }
            assert_eq!(cause(&loses(&world, &a).await), expected);
            // Another host can have it, after a restart or a cut at the latest after the leases of before.
            drop(b.mutex("x").block("60s").lock().await.unwrap());
            world.assert_no_overlap();
        });
    }
}

#[test]
fn a_closed_store_says_so() {
    run(Runs::new().seeds(5), |world| async move {
        let a = world.client("a");
        world.failover().await;
        let error = a.mutex("x").block("1s").lock().await.unwrap_err();
        let LockError::Unavailable { source, .. } = error else {
            panic!("{error}");
        };
        assert!(source.to_string().contains("failed over"), "{source}");
        world.advance(60 * SECOND).await;
        drop(a.mutex("x").lock().await.unwrap());
    });
}

#[test]
fn the_next_request_fails_as_wanted() {
    run(Runs::new().seeds(5), |world| async move {
        let a = world.client("a");
        world.fail_next(Operation::Acquire, StoreErrorKind::Refused);
        let error = a.mutex("x").lock().await.unwrap_err();
        assert!(
            matches!(&error, LockError::Unavailable { source, .. } if source.code() == Some("ERR")),
            "{error:?}"
        );
        world.fail_next(Operation::Acquire, StoreErrorKind::Foreign);
        let error = a.mutex("x").lock().await.unwrap_err();
        assert!(matches!(error, LockError::ForeignKey { .. }));
        // A broken connection is mended, whether or not the request was executed.
        world.fail_next(Operation::Acquire, StoreErrorKind::Disconnected);
        drop(a.mutex("x").lock().await.unwrap());
        world.idle().await;
        world.assert_all_released();
    });
}

#[test]
fn a_suspended_host_stands_still_and_a_killed_one_is_gone() {
    run(Runs::new().seeds(20), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let mutex = a.mutex("x");
        let body = world.on(&a, async move {
            let guard = mutex.lock().await.unwrap();
            sleep(1).await;
            guard.check()
        });
        world.idle().await;
        world.suspend(&a);
        let guard = b.mutex("x").lock().await.unwrap();
        assert!(world.now() >= 9 * SECOND, "{:?}", world.now());
        assert!(!body.is_finished());
        world.resume(&a);
        assert_eq!(cause(&body.await.unwrap_err()), LossCause::NotRenewed);

        let mutex = a.mutex("y");
        let body = world.on(&a, async move {
            let _guard = mutex.lock().await.unwrap();
            std::future::pending::<()>().await;
        });
        world.idle().await;
        world.kill(&a);
        assert_eq!(body.outcome().await, None);
        let before = world.now();
        drop(b.mutex("y").lock().await.unwrap());
        assert!(world.now() - before > 9 * SECOND);
        drop(guard);
        world.idle().await;
        world.assert_no_overlap();
        world.assert_all_released();
    });
}

#[test]
fn a_store_that_is_away_is_found_again() {
    run(Runs::new().seeds(20), |world| async move {
        let config: fn(Config) -> Config = |config| config.store_timeout("2s").restart_guard(false);
        let a = Client::connect(config(world.config("a"))).unwrap();
        world.oom_crash();
        let error = a.mutex("x").lock().await.unwrap_err();
        assert!(matches!(error, LockError::Unavailable { .. }), "{error}");
        assert_eq!(world.now(), 2 * SECOND);
        world.restart_empty().await;
        drop(a.mutex("x").lock().await.unwrap());
    });
}

#[test]
fn a_slow_network_is_slow() {
    run(Runs::new().seeds(5), |world| async move {
        let a = world.client("a");
        world.delay(SECOND);
        let guard = a.mutex("x").lock().await.unwrap();
        assert_eq!(world.now(), 2 * SECOND);
        assert_eq!(guard.waited(), 2 * SECOND);
        drop(world.hold_elsewhere("y").await);
        assert_eq!(world.now(), 4 * SECOND);
    });
}

#[test]
fn elsewhere_keeps_a_lock_until_it_releases_it() {
    run(Runs::new().seeds(5), |world| async move {
        let a = world.client("a");
        let held = world.hold_elsewhere("x").await;
        assert!(
            a.mutex("x")
                .block("5s")
                .lock()
                .await
                .unwrap_err()
                .is_timeout()
        );
        world.assert_all_released();
        held.release().await;
        drop(a.mutex("x").try_lock().await.unwrap().unwrap());
    });
}

#[test]
fn an_overlap_is_found() {
    run(Runs::new().seeds(5), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let _guard = a.mutex("x").lock().await.unwrap();
        // All leases end in the store, but a relies on its own clock.
        world.clock_step(100 * SECOND);
        drop(b.mutex("x").lock().await.unwrap());
        let found =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.assert_no_overlap()));
        let text = *found.unwrap_err().downcast::<String>().unwrap();
        assert!(text.ends_with("x: a and b"), "{text}");
        assert!(
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.assert_all_released()))
                .is_err()
        );
    });
}

#[test]
fn a_leader_that_does_not_stop_is_aborted_alone() {
    run(Runs::new().seeds(5), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let lead = |client: &Client| {
            let leader = client
                .leader("x")
                .on_overrun(auto_mutex_core::Overrun::Abort);
            world.thread(client, move || {
                leader.blocking_lead(|_| {
                    crate::sleep(1000 * SECOND);
                    Ok::<_, LockError>(())
                })
            })
        };
        let first = lead(&a);
        world.idle().await;
        let second = lead(&b);
        world.disconnect(&a);
        assert!(first.outcome().await.is_none());
        sleep(20).await;
        assert!(!second.is_finished());
        world.assert_order(["a granted x", "b granted x"]);
        world.assert_no_overlap();
    });
}

#[test]
fn a_lock_that_is_kept_is_released() {
    run(Runs::new().seeds(5), |world| async move {
        let a = Client::connect(world.config("a").retain("1s")).unwrap();
        let guard = a.mutex("x").lock().await.unwrap();
        let found =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.assert_all_released()));
        let text = *found.unwrap_err().downcast::<String>().unwrap();
        assert!(
            text.starts_with("still held: a holds `x` since 0.000s, by "),
            "{text}"
        );
        drop(guard);
        world.assert_all_released();
    });
}
