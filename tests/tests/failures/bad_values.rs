//! Options that cannot work: refused where a result is returned, never a panic.

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
    for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        refused(config().lease(bad), "lease");
        refused(config().expire(bad), "expire");
        refused(config().block(bad), "block");
        refused(config().store_timeout(bad), "store_timeout");
    }
    refused(config().lease(0), "lease");
    refused(config().lease(i32::MAX), "lease");
    refused(config().expire(0), "expire");
    refused(config().store_timeout(0), "store_timeout");
    // Waiting not at all is a way to wait.
    assert!(Client::connect(config().block(0)).is_ok());
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
        .expire(Duration::from_millis(50))
        .lock()
        .await
        .unwrap();
    soon("it expires", guard.lost()).await;
    assert!(was_lost(guard.unlock().await), "after expiry");
    becomes("the store forgets it", async || rig.redis.held() == 0).await;
}
