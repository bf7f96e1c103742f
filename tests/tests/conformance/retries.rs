//! Polling instead of queueing, as redis_exp_lock does.

use tokio::time::{Instant, sleep};

use crate::prelude::*;

const INTERVAL: Duration = Duration::from_millis(20);

pub(crate) async fn retries_end_with_too_many_attempts(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").retries(3, INTERVAL);
    let started = Instant::now();
    let error = soon("an answer", mutex.lock()).await.unwrap_err();
    // One attempt and three retries, with three intervals between them.
    let LockError::TooManyAttempts {
        attempts: 4,
        holder: Some(holder),
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(store.is_ours(holder.pid));
    assert!(started.elapsed() >= 3 * INTERVAL);
    assert!(error.is_timeout());
    let once = client.mutex("m").retries(0, INTERVAL);
    let error = store.thread(move || once.blocking_lock().unwrap_err());
    is!(
        error.await.unwrap(),
        LockError::TooManyAttempts { attempts: 1, .. }
    );
}

pub(crate) async fn retries_get_a_lock_that_becomes_free(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    let tries = with(&client, |client| async move {
        client.mutex("m").retries(1_000_000, INTERVAL).lock().await
    });
    // It is in no queue meanwhile.
    for _ in 0..10 {
        assert!(holder.mutex("m").info().await.unwrap().waiters.is_empty());
        sleep(INTERVAL / 4).await;
    }
    becomes!(
        "it waits for the next attempt",
        client.health().waiting == 1
    );
    guard.unlock().await.unwrap();
    let guard = soon("a retry gets it", tries).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn retries_need_a_pause(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").retries(u32::MAX, Duration::ZERO);
    is!(
        soon("an answer", mutex.lock()).await,
        Err(LockError::InvalidOption {
            option: "interval",
            ..
        })
    );
    // Even with the shortest interval, the engine gets to its other work.
    let mutex = client.mutex("m").retries(u32::MAX, Duration::from_nanos(1));
    let polling = tokio::spawn(async move { mutex.lock().await.map(drop) });
    let other = client.mutex("other").lock().await.unwrap();
    assert!(soon("released", other.unlock()).await.unwrap());
    soon("the client ends", client.shutdown()).await;
    is!(
        soon("polling ends", polling).await.unwrap(),
        Err(LockError::ShutDown)
    );
}
