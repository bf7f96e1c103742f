//! Options with impossible values are refused by an error, never by a panic.

use std::time::Duration;

use auto_mutex::{Client, Config, LockError};
use auto_mutex_tests::events::soon;

use crate::rig::Rig;

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
