//! Bugs of renewals and releases, and leftover keys.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use auto_mutex::LockError;
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

const LEASE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn others_renewal_does_not_stop_after_a_failure() {
    let rig = Rig::new();
    let client = rig.proxied_leasing(LEASE);
    let guard = client.mutex("m").lock().await.unwrap();
    let started = Instant::now();
    while started.elapsed() < LEASE * 3 {
        // The cut may or may not hit a renewal in flight.
        rig.proxy.cut();
        tokio::time::sleep(LEASE / 2).await;
        guard.check().unwrap();
    }
    assert_eq!(rig.redis.held(), 1);
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn others_renewal_does_not_outlive_the_guard() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied_leasing(LEASE), rig.client());
    for way in 0..4 {
        let guard = client.mutex("m").lock().await.unwrap();
        // In each way, the refresh is cancelled between its submission and its answer, and the guard is dropped.
        rig.proxy.hold_replies();
        if way == 3 {
            rig.proxy.lose_reply_after(0);
        }
        let refresh = guard.refresh(Duration::from_secs(60));
        if way == 1 {
            let in_time = tokio::time::timeout(Duration::from_micros(1), refresh).await;
            assert!(in_time.is_err());
        } else {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(pin!(refresh).poll(&mut cx).is_pending(), "way {way}");
        }
        if way == 2 {
            rig.proxy.cut();
        }
        drop(guard);
        rig.proxy.thaw();
        let next = soon("the lock is free", other.mutex("m").lock())
            .await
            .unwrap();
        // A late renewal must not affect the next holder.
        tokio::time::sleep(LEASE).await;
        next.check().unwrap();
        assert_eq!(rig.redis.held(), 1, "way {way}");
        assert!(next.unlock().await.unwrap());
    }
}

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
