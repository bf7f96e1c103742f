//! Polling instead of queueing, as redis_exp_lock does.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::events::{PATIENCE, soon, with};
use auto_mutex_tests::stores::TestStore;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_millis(20);

pub(crate) async fn retries_end_with_too_many_attempts(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").retries(3, INTERVAL);
    let started = Instant::now();
    let error = soon("an answer", mutex.lock()).await.map(drop).unwrap_err();
    // One attempt and three retries, with three intervals between them.
    let LockError::TooManyAttempts {
        attempts, holder, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(*attempts, 4);
    assert!(
        holder
            .as_ref()
            .is_some_and(|holder| store.is_ours(holder.pid))
    );
    assert!(started.elapsed() >= 3 * INTERVAL);
    assert!(error.is_timeout());
    let once = client.mutex("m").retries(0, INTERVAL);
    let error = store.thread(move || once.blocking_lock().unwrap_err());
    assert!(matches!(
        error.await.unwrap(),
        LockError::TooManyAttempts { attempts: 1, .. }
    ));
}

pub(crate) async fn retries_get_a_lock_that_becomes_free(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let mut pause = 2 * INTERVAL;
    loop {
        let guard = holder.mutex("m").lock().await.unwrap();
        let mutex = client.mutex("m").retries(10_000, INTERVAL);
        let waiting = tokio::spawn(async move { mutex.lock().await });
        tokio::time::sleep(pause).await;
        guard.unlock().await.unwrap();
        let guard = soon("a retry gets it", waiting).await.unwrap().unwrap();
        let attempts = guard.attempts();
        assert!(guard.unlock().await.unwrap());
        if attempts >= 2 {
            return;
        }
        // On a busy machine, the first attempt may come after the release. Then the next round waits longer before the release.
        pause *= 4;
        assert!(pause < PATIENCE, "it got it at the first attempt, always");
    }
}

pub(crate) async fn retries_do_not_queue(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = with(&client, |client| async move {
        client.mutex("m").retries(10_000, INTERVAL).lock().await
    });
    for _ in 0..10 {
        assert!(holder.mutex("m").info().await.unwrap().waiters.is_empty());
        tokio::time::sleep(INTERVAL / 4).await;
    }
    waiting.abort();
    guard.unlock().await.unwrap();
}

pub(crate) async fn retries_need_a_pause(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").retries(u32::MAX, Duration::ZERO);
    let error = soon("an answer", mutex.lock()).await.map(drop).unwrap_err();
    assert!(
        matches!(
            error,
            LockError::InvalidOption {
                option: "interval",
                ..
            }
        ),
        "{error:?}"
    );
    // Even with the shortest interval, the engine gets to its other work.
    let mutex = client.mutex("m").retries(u32::MAX, Duration::from_nanos(1));
    let polling = tokio::spawn(async move { mutex.lock().await.map(drop) });
    let other = client.mutex("other").lock().await.unwrap();
    assert!(soon("released", other.unlock()).await.unwrap());
    soon("the client ends", client.shutdown()).await;
    let ended = soon("polling ends", polling).await.unwrap();
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
}
