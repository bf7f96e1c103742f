//! How long a call waits, and what it says about it.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;

const WAIT: Duration = Duration::from_millis(150);

pub(crate) async fn block_zero_does_not_wait(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").block(Duration::ZERO);
    let error = soon("an answer", mutex.lock()).await.map(drop).unwrap_err();
    assert!(matches!(error, LockError::Timeout { .. }), "{error:?}");
    assert!(mutex.blocking_lock().unwrap_err().is_timeout());
    assert!(holder.mutex("m").info().await.unwrap().waiters.is_empty());
    guard.unlock().await.unwrap();
    // Not waiting is not the same as not asking.
    mutex.lock().await.unwrap().unlock().await.unwrap();
}

pub(crate) async fn a_timeout_names_the_holder(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    for block in [Duration::ZERO, WAIT] {
        let error = client
            .mutex("m")
            .block(block)
            .lock()
            .await
            .map(drop)
            .unwrap_err();
        let LockError::Timeout {
            name,
            holder: Some(holder),
            waited,
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(name, "suite:m");
        assert_eq!(holder.pid, std::process::id());
        assert!(!holder.host.is_empty());
        assert!(
            holder
                .since
                .elapsed()
                .is_ok_and(|since| since < Duration::from_secs(60))
        );
        assert!(*waited >= block);
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
    }
}

pub(crate) async fn a_timeout_comes_neither_early_nor_never(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").block(WAIT);
    let started = Instant::now();
    assert!(
        soon("a timeout", mutex.lock())
            .await
            .unwrap_err()
            .is_timeout()
    );
    assert!(started.elapsed() >= WAIT);
    let started = Instant::now();
    assert!(mutex.blocking_lock().unwrap_err().is_timeout());
    assert!(started.elapsed() >= WAIT);
}

pub(crate) async fn a_waiter_is_woken_by_a_release(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    for _ in 0..30 {
        let guard = holder.mutex("m").lock().await.unwrap();
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.mutex("m").lock().await.unwrap() }
        });
        becomes("it waits", async || {
            !holder.mutex("m").info().await.unwrap().waiters.is_empty()
        })
        .await;
        drop(guard);
        soon("woken", waiting)
            .await
            .unwrap()
            .unlock()
            .await
            .unwrap();
    }
}

pub(crate) async fn waited_and_attempts_tell_what_it_took(store: &dyn TestStore) {
    let (holder, client) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    assert_eq!(guard.attempts(), 1);
    let waiting = tokio::spawn(async move { client.mutex("m").lock().await.unwrap() });
    becomes("it waits", async || {
        !holder.mutex("m").info().await.unwrap().waiters.is_empty()
    })
    .await;
    tokio::time::sleep(WAIT).await;
    guard.unlock().await.unwrap();
    let guard = soon("woken", waiting).await.unwrap();
    assert!(guard.waited() >= WAIT, "{:?}", guard.waited());
}

pub(crate) async fn the_default_block_comes_from_the_client(store: &dyn TestStore) {
    let holder = store.member();
    let client = Client::connect(store.config().block(0.1)).unwrap();
    let _guard = holder.mutex("m").lock().await.unwrap();
    let error = soon("a timeout", client.mutex("m").lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::Timeout { .. }), "{error:?}");
}
