//! Options with impossible values are refused by an error, never by a panic.

use std::time::Duration;

use auto_mutex::{Client, Config, LockError, SetupError};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::was_lost;

use crate::rig::Rig;

#[track_caller]
fn refused(config: Config, expected: &str) {
    match Client::connect(config) {
        Err(SetupError::InvalidOption { option, .. }) => assert_eq!(option, expected),
        other => panic!("{expected}: {other:?}"),
    }
}

#[test]
fn impossible_spans_are_refused() {
    let rig = Rig::new();
    let config = || Config::new(rig.redis.url()).unwrap();
    for bad in ["-1s", "NaN s", "inf s", "1e300s", "999999999999d"] {
        refused(config().lease(bad), "lease");
        refused(config().expire(bad), "expire");
        refused(config().block(bad), "block");
        refused(config().store_timeout(bad), "store_timeout");
    }
    refused(config().lease("0s"), "lease");
    refused(config().lease("31s"), "lease");
    refused(config().expire("0s"), "expire");
    refused(config().store_timeout("0s"), "store_timeout");
    // A `block` of zero is valid.
    assert!(Client::connect(config().block("0s")).is_ok());
}

#[tokio::test]
async fn huge_spans_work_or_are_refused() {
    let rig = Rig::new();
    let client = rig.client();
    for huge in [
        Duration::MAX,
        Duration::from_secs(u64::MAX / 1000),
        Duration::from_secs(10_000_000_000),
    ] {
        let mutex = client.mutex("m").block(huge).expire(huge);
        match soon("an answer", mutex.lock()).await {
            Ok(guard) => {
                guard.check().unwrap();
                assert!(guard.unlock().await.unwrap());
            }
            Err(LockError::InvalidOption { .. }) => {}
            Err(error) => panic!("{huge:?}: {error:?}"),
        }
        let holder = client.mutex("held").lock().await.unwrap();
        let poll = rig
            .client()
            .mutex("held")
            .retries(1, Duration::from_millis(1));
        assert!(
            soon("an answer", poll.lock())
                .await
                .unwrap_err()
                .is_timeout()
        );
        assert!(holder.unlock().await.unwrap());
    }
}

#[test]
fn a_lease_out_of_range_is_said_with_its_limit() {
    let rig = Rig::new();
    let error = |lease: Duration| {
        let config = Config::new(rig.redis.url()).unwrap().lease(lease);
        Client::connect(config).map(drop).unwrap_err().to_string()
    };
    let long = error(Duration::from_secs(500));
    assert!(
        long.contains("500s is longer than 30s") && long.contains("`expire`"),
        "{long}"
    );
    let short = error(Duration::from_millis(50));
    assert!(short.contains("50ms is shorter than 100ms"), "{short}");
}

/// Handles follow the same rule as `Config`. A value that cannot be used is an error of the call.
#[tokio::test]
async fn handles_take_texts_and_durations() {
    let rig = Rig::new();
    let client = rig.client();
    let name = |mutex: auto_mutex::Mutex| async move {
        match mutex.lock().await {
            Err(LockError::InvalidOption { option, .. }) => option,
            other => panic!("{other:?}"),
        }
    };
    let mutex = || client.mutex("m");
    assert_eq!(name(mutex().expire("-1s")).await, "expire");
    assert_eq!(name(mutex().expire("soon")).await, "expire");
    assert_eq!(name(mutex().block("10 s 5")).await, "block");
    assert_eq!(name(mutex().block("5 weeks")).await, "block");
    assert_eq!(name(mutex().block("100")).await, "block");
    assert_eq!(name(mutex().retries(1, "-0.5s")).await, "interval");
    assert_eq!(name(mutex().at_least("a while")).await, "at_least");
    assert_eq!(rig.redis.keys(), [], "nothing reached the store");
    // The last value of an option counts.
    let guard = mutex()
        .expire("soon")
        .expire("2m")
        .block("500ms")
        .lock()
        .await;
    let guard = guard.expect("usable now");
    assert!(guard.expires_in() > Duration::from_secs(60));
    assert!(guard.expires_in() <= Duration::from_secs(120));
    guard.refresh("1h").await.expect("it is held");
    assert!(guard.expires_in() > Duration::from_secs(120));
    guard.refresh("100s").await.expect("it is held");
    assert!(guard.expires_in() <= Duration::from_secs(100));
    for bad in ["1 week", "", "-1s"] {
        let refused = guard.refresh(bad).await;
        assert!(
            matches!(refused, Err(LockError::InvalidOption { .. })),
            "{bad}: {refused:?}"
        );
    }
    let busy = rig.client().mutex("m").retries(1, "1ms");
    assert!(
        soon("an answer", busy.lock())
            .await
            .unwrap_err()
            .is_timeout()
    );
    let condvar = client.condvar("c");
    let (guard, waited) = condvar.wait_timeout(guard, "5ms").await.expect("back");
    assert!(waited.timed_out());
    let refused = condvar.wait_timeout(guard, "soon").await.map(drop);
    assert!(
        matches!(refused, Err(LockError::InvalidOption { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn release_twice_by_others_or_too_late_is_false_and_harmless() {
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    assert!(!other.mutex("m").unlock().await.unwrap(), "by another");
    assert!(mutex.unlock().await.unwrap());
    assert!(!mutex.unlock().await.unwrap(), "twice");
    assert!(was_lost(guard.unlock().await), "and by the guard");
    let guard = mutex
        .clone()
        .expire(Duration::from_millis(500))
        .lock()
        .await
        .unwrap();
    soon("it expires", guard.lost()).await;
    assert!(was_lost(guard.unlock().await), "after expiry");
    becomes("the store forgets it", async || rig.redis.held() == 0).await;
}
