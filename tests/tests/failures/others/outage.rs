//! A store that is down is not mistaken for an empty one, and no body runs without its lock.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, MutexGuard};
use auto_mutex_tests::events::{LONG, becomes, soon};

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn others_a_server_that_is_down_is_no_absent_key() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().lease(LONG).store_timeout("200ms")).unwrap();
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let free = client.mutex("free");
    rig.redis.kill9();
    let unavailable = |error: LockError| {
        assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    };
    unavailable(soon("is_locked", free.is_locked()).await.unwrap_err());
    unavailable(soon("info", free.info()).await.unwrap_err());
    unavailable(
        soon("try_lock", free.try_lock())
            .await
            .map(drop)
            .unwrap_err(),
    );
    unavailable(soon("lock", free.lock()).await.map(drop).unwrap_err());
    unavailable(
        soon("block 0", free.clone().block(Duration::ZERO).lock())
            .await
            .map(drop)
            .unwrap_err(),
    );
    unavailable(
        soon(
            "retries",
            free.clone().retries(2, Duration::from_millis(5)).lock(),
        )
        .await
        .map(drop)
        .unwrap_err(),
    );
    unavailable(soon("force_unlock", free.force_unlock()).await.unwrap_err());
    unavailable(soon("is_owned", mutex.is_owned()).await.unwrap_err());
    unavailable(soon("unlock", guard.unlock()).await.unwrap_err());
}

#[tokio::test]
async fn others_a_body_never_runs_without_the_lock() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().store_timeout("300ms")).unwrap();
    rig.redis.kill9();
    let mutex = client.mutex("m");
    let body = mutex.synchronize(async |_: &MutexGuard| unreachable!("the body ran"));
    let error: LockError = soon("an answer", body).await.map(|(): ()| ()).unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    let error = mutex
        .blocking_synchronize(|_| unreachable!("the body ran"))
        .map(|(): ()| ())
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
}

/// How requests are repeated after an error is tested in the core, in virtual time.
#[tokio::test]
async fn others_no_error_makes_a_hot_retry() {
    const ATTEMPTS: u64 = 26;
    let rig = Rig::new();
    let (holder, waiter) = (rig.proxied(), rig.proxied());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let _waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.map(drop) });
    waiters(&holder.mutex("m"), 1).await;
    rig.proxy.refuse();
    rig.proxy.cut();
    let (before, began) = (rig.proxy.connections(), Instant::now());
    becomes("both have tried again", async || {
        rig.proxy.connections() >= before + ATTEMPTS
    })
    .await;
    let took = began.elapsed();
    assert!(
        took >= Duration::from_millis(10) * ATTEMPTS as u32,
        "{took:?}"
    );
    rig.proxy.heal();
    becomes("it is back", async || {
        holder.mutex("m").is_locked().await.is_ok()
    })
    .await;
}
