//! Metrics of locks and calls.

use std::time::Duration;

use auto_mutex::{Client, LockError, Metric, auto_mutex};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

use crate::seen::Seen;

const HANDLE: &[(&str, &str)] = &[("lock.site", "here"), ("lock.kind", "mutex")];

pub(crate) async fn a_call_counts_as_waiting_then_as_active_and_then_no_more(
    store: &dyn TestStore,
) {
    let (here, there) = (Seen::default(), store.member());
    let client = here.member(store);
    let held = there.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").metrics_label("here");
    let call = tokio::spawn(async move { mutex.lock().await });
    waiters(&there.mutex("m"), 1).await;
    assert_eq!(here.total(Metric::Waiting, HANDLE), 1);
    assert_eq!(here.total(Metric::Active, HANDLE), 0);
    drop(held);
    let guard = soon("its turn", call).await.unwrap().unwrap();
    assert_eq!(here.total(Metric::Waiting, HANDLE), 0);
    assert_eq!(here.total(Metric::Active, HANDLE), 1);
    assert_eq!(here.total(Metric::HoldDuration, HANDLE), 0);
    assert!(guard.unlock().await.unwrap());
    assert_eq!(here.total(Metric::Active, HANDLE), 0);
    assert_eq!(here.total(Metric::HoldDuration, HANDLE), 1);
    let calls = here.series(Metric::AcquireDuration);
    let [(labels, series)] = &*calls else {
        panic!("{calls:?}");
    };
    assert_eq!(
        *labels,
        [
            ("lock.site", "here"),
            ("lock.kind", "mutex"),
            ("outcome", "acquired"),
            ("via", "store")
        ]
    );
    assert!(series.values[0] > Duration::ZERO);
    for metric in [Metric::Waiting, Metric::Active] {
        for (labels, series) in here.series(metric) {
            assert!(series.least >= 0, "{metric:?} {labels:?} {series:?}");
        }
    }
}

pub(crate) async fn each_end_of_a_call_has_its_outcome(store: &dyn TestStore) {
    let (seen, there) = (Seen::default(), store.member());
    let client = seen.member(store);
    let held = there.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").metrics_label("here");
    let ends = |outcome| seen.outcomes("here", outcome);

    let late = mutex.clone().block("20ms").lock().await;
    assert!(matches!(late, Err(LockError::Timeout { .. })));
    assert_eq!(ends("timeout"), 1);
    let late = mutex.clone().retries(1, "10ms").lock().await;
    assert!(matches!(late, Err(LockError::TooManyAttempts { .. })));
    assert_eq!(ends("timeout"), 2);

    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(mutex.clone().block("0s").lock().await.is_err());
    let several = client.multi(["m", "n"]).metrics_label("here");
    assert!(several.try_lock().await.unwrap().is_none());
    assert_eq!(ends("busy"), 3);

    let call = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.lock().await.map(drop) }
    });
    waiters(&there.mutex("m"), 1).await;
    assert_eq!(seen.total(Metric::Waiting, HANDLE), 1);
    call.abort();
    becomes("it is dropped", async || ends("cancelled") == 1).await;
    assert_eq!(seen.total(Metric::Waiting, HANDLE), 0);

    let refused = client.rw_lock("m").metrics_label("here").read().await;
    assert!(
        matches!(refused, Err(LockError::WrongKind { .. })),
        "{refused:?}"
    );
    assert_eq!(ends("refused"), 1);

    assert!(held.unlock().await.unwrap());
    drop(mutex.lock().await.unwrap());
    assert_eq!(ends("acquired"), 1);

    let held = there.mutex("m").lock().await.unwrap();
    let call = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.lock().await.map(drop) }
    });
    waiters(&there.mutex("m"), 1).await;
    client.shutdown().await;
    let ended = soon("it ends", call).await.unwrap();
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
    assert_eq!(ends("refused"), 2);
    assert_eq!(seen.total(Metric::Waiting, HANDLE), 0);
    drop(held);
}

pub(crate) async fn a_loss_is_counted_with_its_cause(store: &dyn TestStore) {
    let (seen, there) = (Seen::default(), store.member());
    let client = seen.member(store);
    let forced = client
        .mutex("m")
        .metrics_label("here")
        .lock()
        .await
        .unwrap();
    assert!(there.mutex("m").force_unlock().await.unwrap());
    soon("it is told", forced.lost()).await;
    let lost = |cause| seen.total(Metric::Lost, &[("lock.site", "here"), ("cause", cause)]);
    becomes("the loss is counted", async || lost("forced") == 1).await;
    becomes("it is active no more", async || {
        seen.total(Metric::Active, HANDLE) == 0
    })
    .await;
    drop(forced);

    let mutex = client.mutex("m").metrics_label("here");
    let expired = mutex.lock().await.unwrap();
    // On a slow machine, the new `expire` may end before the store confirms it.
    let _ = expired.refresh("50ms").await;
    soon("it expires", expired.lost()).await;
    drop(expired);
    becomes("that too", async || lost("expired") == 1).await;
    assert_eq!(lost("forced"), 1);
    assert_eq!(seen.total(Metric::Active, HANDLE), 0);
    assert_eq!(seen.total(Metric::HoldDuration, HANDLE), 2);
}

#[auto_mutex(name = "accounts", keys = [from, to])]
async fn transfer(from: u32, to: u32, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
    inside().await;
    Ok(())
}

pub(crate) async fn several_locks_are_one_call_and_several_holds(store: &dyn TestStore) {
    let seen = Seen::default();
    let client = seen.member(store);
    let site = [("lock.site", "accounts:[{from}, {to}]")];
    let active = || seen.total(Metric::Active, &site);
    client
        .scope(transfer(1, 2, async || assert_eq!(active(), 2)))
        .await
        .unwrap();
    assert_eq!(active(), 0);
    assert_eq!(seen.total(Metric::HoldDuration, &site), 2);
    assert_eq!(seen.total(Metric::AcquireDuration, &site), 1);
    // The call waits for the second lock. This adds no holds: each lock is counted once when the body has ended.
    let other = store.member();
    let held = other.mutex("accounts:2").lock().await.unwrap();
    let call = tokio::spawn(client.scope(transfer(1, 2, async || {})));
    waiters(&other.mutex("accounts:2"), 1).await;
    assert_eq!(seen.total(Metric::Waiting, &site), 1);
    drop(held);
    soon("its turn", call).await.unwrap().unwrap();
    assert_eq!(seen.total(Metric::Waiting, &site), 0);
    assert_eq!(seen.total(Metric::HoldDuration, &site), 4);
    assert_eq!(seen.total(Metric::AcquireDuration, &site), 2);
}

#[auto_mutex(name = "outer")]
async fn outer(depth: u32, client: Client) -> Result<(), LockError> {
    match depth {
        0 => Ok(()),
        _ => Box::pin(outer(depth - 1, client)).await,
    }
}

pub(crate) async fn a_nested_call_is_no_call(store: &dyn TestStore) {
    let seen = Seen::default();
    let client = seen.member(store);
    client.scope(outer(3, client.clone())).await.unwrap();
    let site = [("lock.site", "outer")];
    assert_eq!(seen.total(Metric::AcquireDuration, &site), 1);
    assert_eq!(seen.total(Metric::HoldDuration, &site), 1);
    assert_eq!(seen.total(Metric::Active, &site), 0);
}

pub(crate) async fn a_wait_for_a_notification_releases_the_lock(store: &dyn TestStore) {
    let (seen, there) = (Seen::default(), store.member());
    let client = seen.member(store);
    let (mutex, condvar) = (client.mutex("m").metrics_label("here"), client.condvar("c"));
    let guard = mutex.lock().await.unwrap();
    let waits = tokio::spawn(async move { condvar.wait(guard).await });
    becomes("it is notified", async || {
        there.condvar("c").notify_one().await.unwrap() || seen.outcomes("here", "acquired") == 2
    })
    .await;
    let guard = soon("it has the lock again", waits).await.unwrap().unwrap();
    assert_eq!(seen.total(Metric::Active, HANDLE), 1);
    assert_eq!(seen.total(Metric::HoldDuration, HANDLE), 1);
    drop(guard);
    assert_eq!(seen.total(Metric::Active, HANDLE), 0);
    assert_eq!(seen.outcomes("here", "acquired"), 2);
}

pub(crate) async fn a_call_that_enters_a_kept_lock_says_so(store: &dyn TestStore) {
    let seen = Seen::default();
    let client = seen.member(store);
    let mutex = client.mutex("m").metrics_label("here").retain("600s");
    for _ in 0..3 {
        let guard = mutex.lock().await.unwrap();
        assert_eq!(seen.total(Metric::Active, HANDLE), 1);
        assert!(guard.unlock().await.unwrap());
        assert_eq!(seen.total(Metric::Active, HANDLE), 0, "no call is inside");
    }
    let kept = if store.keeps() { 2 } else { 0 };
    for (via, calls) in [("kept", kept), ("store", 3 - kept)] {
        let label = ("via", via);
        assert_eq!(seen.total(Metric::AcquireDuration, &[label]), calls);
    }
    assert_eq!(seen.total(Metric::HoldDuration, HANDLE), 3);
}
