//! Bugs of renewals and releases, and leftover keys.

use auto_mutex::LockError;
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn others_a_refresh_never_revives_a_lost_lock() {
    let rig = Rig::new();
    let client = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    client.mutex("m").force_unlock().await.unwrap();
    soon("the loss", guard.lost()).await;
    for _ in 0..3 {
        let error = guard.refresh(LONG).await.unwrap_err();
        assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    }
    assert_eq!(rig.redis.held(), 0);
    assert!(guard.is_lost());
    // Nor does a refresh revive a lock that the store has lost without the holder's knowledge.
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis
        .command(&["DEL", "auto_mutex:{suite:m}", "auto_mutex:{suite:m}:held"]);
    let error = guard.refresh(LONG).await.unwrap_err();
    assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    assert_eq!(rig.redis.held(), 0);
    assert!(guard.is_lost());
}

#[tokio::test]
async fn others_every_key_has_a_ttl_after_every_step() {
    let rig = Rig::new();
    let [one, two, three] = [rig.client(), rig.client(), rig.client()];
    let step = |what: &str| {
        assert_eq!(rig.redis.keys_without_ttl(), [], "after {what}");
        assert!(
            rig.redis.keys().iter().all(|key| key.ttl <= 1_300_000),
            "after {what}"
        );
    };
    let guard = one.mutex("m").lock().await.unwrap();
    step("a first lock");
    assert!(!rig.redis.keys().is_empty());
    guard.refresh(LONG * 100).await.unwrap();
    step("a renewal");
    assert!(guard.unlock().await.unwrap());
    step("a release");
    let guard = one.mutex("m").lock().await.unwrap();
    step("a second lock");
    assert!(two.mutex("m").try_lock().await.unwrap().is_none());
    step("a try");
    let mut waiting = Vec::new();
    for (number, client) in [two, three].into_iter().enumerate() {
        waiting.push(tokio::spawn(async move { client.mutex("m").lock().await }));
        waiters(&one.mutex("m"), number + 1).await;
        step("a waiter");
    }
    guard.refresh(LONG * 100).await.unwrap();
    step("a renewal before waiters");
    assert!(guard.unlock().await.unwrap());
    step("a release to a waiter");
    let guard = soon("the first", waiting.remove(0)).await.unwrap().unwrap();
    step("a claim");
    waiting.remove(0).abort();
    waiters(&one.mutex("m"), 0).await;
    step("a cancelled wait");
    assert!(one.mutex("m").force_unlock().await.unwrap());
    step("a forced release");
    assert!(was_lost(guard.unlock().await));
    step("a stale release");
}
