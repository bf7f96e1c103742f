//! A nested call for the same lock re-enters if it is made by the same task, but not if by another task.

use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};

use crate::support::{client, named_client, scoped_on};

#[auto_mutex(name = "r", block = 0, guard = g)]
fn sync<T>(inside: impl FnOnce() -> Result<T, LockError>) -> Result<(u64, T), LockError> {
    Ok((g.fencing_token(), inside()?))
}

#[auto_mutex(name = "r", block = 0, guard = g)]
async fn future<T>(
    inside: impl AsyncFnOnce() -> Result<T, LockError>,
) -> Result<(u64, T), LockError> {
    tokio::task::yield_now().await;
    Ok((g.fencing_token(), inside().await?))
}

#[test]
fn calls_inside_sync_and_async_ones() {
    let client = client();
    let (outer, (inner, ())) = client.blocking_scope(|| sync(|| sync(|| Ok(())))).unwrap();
    assert_eq!(outer, inner);
    let call = future(async || {
        tokio::task::yield_now().await;
        let (outer, ()) = sync(|| Ok(()))?;
        let (inner, ()) = future(async || Ok(())).await?;
        Ok((outer, inner))
    });
    let (token, inside) = scoped_on(&client, call).unwrap();
    assert_eq!((token, token), inside);
}

#[test]
fn async_in_sync_also_through_a_runtime_of_its_own() {
    let client = client();
    let (outer, (inner, ())) = client
        .blocking_scope(|| sync(|| scoped_on(&client, future(async || Ok(())))))
        .unwrap();
    assert_eq!(outer, inner);
    let (outer, (inner, ())) = client
        .blocking_scope(|| sync(|| futures::executor::block_on(future(async || Ok(())))))
        .unwrap();
    assert_eq!(outer, inner);
}

#[test]
fn a_nested_call_does_not_move_the_outer_expire() {
    const BOUND: Duration = Duration::from_secs(3600);
    #[auto_mutex(name = "e", expire = BOUND, guard = g)]
    fn outer() -> Result<(), LockError> {
        let before = g.expires_in();
        longer()?;
        of_the_client()?;
        assert!(g.expires_in() <= before);
        shorter()?;
        assert!(g.expires_in() > BOUND / 2);
        Ok(())
    }
    #[auto_mutex(name = "e", expire = BOUND * 5, guard = g)]
    fn longer() -> Result<(), LockError> {
        assert!(g.expires_in() <= BOUND);
        Ok(())
    }
    #[auto_mutex(name = "e", guard = g)]
    fn of_the_client() -> Result<(), LockError> {
        assert!(g.expires_in() <= BOUND);
        Ok(())
    }
    #[auto_mutex(name = "e", expire = BOUND / 5, guard = g)]
    fn shorter() -> Result<(), LockError> {
        assert!(g.expires_in() <= BOUND / 5);
        Ok(())
    }
    client().blocking_scope(outer).unwrap();
}

#[test]
fn an_async_body_inside_ends_by_its_own_expire() {
    #[auto_mutex(name = "e", expire = 3600, guard = g)]
    async fn outer() -> Result<(), LockError> {
        let inner = inner().await;
        assert!(matches!(inner, Err(LockError::Lost { .. })), "{inner:?}");
        g.check()?;
        // The outer call still holds the lock.
        tokio::task::yield_now().await;
        assert!(g.expires_in() > Duration::from_secs(1800));
        Ok(())
    }
    #[auto_mutex(name = "e", expire = "20ms")]
    async fn inner() -> Result<(), LockError> {
        std::future::pending().await
    }
    scoped_on(&client(), outer()).unwrap();
}

#[test]
fn a_spawned_task_does_not_re_enter() {
    let client = client();
    scoped_on(&client, async {
        future(async || {
            let other = tokio::spawn(client.scope(async { future(async || Ok(())).await }));
            assert!(matches!(
                other.await.unwrap(),
                Err(LockError::Timeout { .. })
            ));
            Ok(())
        })
        .await
        .unwrap();
    });
}

#[test]
fn a_sync_body_that_drives_a_runtime_does_not_lend_its_lock_to_its_tasks() {
    let client = client();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    client
        .blocking_scope(|| {
            sync(|| {
                runtime.block_on(async {
                    // The spawned task is polled on this very thread, inside of the sync body.
                    let other = tokio::spawn(client.scope(async { future(async || Ok(())).await }));
                    assert!(matches!(
                        other.await.unwrap(),
                        Err(LockError::Timeout { .. })
                    ));
                });
                Ok(())
            })
        })
        .unwrap();
}

/// Documented: two calls joined inside a holder both belong to the holder's task.
#[test]
fn calls_joined_inside_a_holder_both_re_enter() {
    scoped_on(&client(), async {
        future(async || {
            let (one, two) = tokio::join!(future(async || Ok(())), future(async || Ok(())));
            assert_eq!(one?.0, two?.0);
            Ok(())
        })
        .await
        .unwrap();
    });
}

#[test]
fn after_a_panic_nothing_is_left_of_the_scope() {
    let client = client();
    client.blocking_scope(|| {
        let panics = std::panic::AssertUnwindSafe(|| sync::<()>(|| panic!("in the body")));
        std::panic::catch_unwind(panics).expect_err("panics");
        let (one, ()) = sync(|| Ok(())).unwrap();
        let (two, ()) = sync(|| Ok(())).unwrap();
        assert!(one < two);
    });
}

#[test]
fn a_nested_at_least_keeps_the_lock_after_the_outer_body() {
    #[auto_mutex(name = "r", at_least = 3600)]
    fn rare() -> Result<(), LockError> {
        Ok(())
    }
    let client = named_client();
    client.blocking_scope(|| sync(rare)).unwrap();
    assert!(client.mutex("r").blocking_is_locked().unwrap());
    let again = client.blocking_scope(|| sync(|| Ok(())));
    assert!(matches!(again, Err(LockError::Timeout { .. })), "{again:?}");
}
