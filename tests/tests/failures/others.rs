//! What was seen in other systems.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, MutexGuard};
use auto_mutex_tests::events::{LONG, becomes, soon};

use crate::rig::{Rig, waiters};

const LEASE: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn others_renewal_does_not_stop_after_a_failure() {
    let rig = Rig::new();
    let client = rig.proxied_leasing(LEASE);
    let guard = client.mutex("m").lock().await.unwrap();
    let started = Instant::now();
    while started.elapsed() < LEASE * 3 {
        // Each time a renewal may or may not be under way.
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
        // The renewal is under way or its connection is going down while the guard goes.
        let refresh = guard.refresh(Duration::from_secs(60));
        match way {
            0 => drop(refresh),
            1 => {
                let _ = tokio::time::timeout(Duration::from_micros(1), refresh).await;
            }
            2 => {
                drop(refresh);
                rig.proxy.cut();
            }
            _ => {
                drop(refresh);
                rig.proxy.lose_reply_after(0);
            }
        }
        drop(guard);
        let next = soon("the lock is free", other.mutex("m").lock())
            .await
            .unwrap();
        // Whatever is renewed now, it is not the former hold.
        tokio::time::sleep(LEASE).await;
        next.check().unwrap();
        assert_eq!(rig.redis.held(), 1, "way {way}");
        assert!(next.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn others_a_dead_waiter_costs_no_lease_and_a_live_one_keeps_its_place() {
    let rig = Rig::new();
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut dead: Vec<_> = (0..3).map(|_| rig.worker(LONG)).collect();
    for (number, worker) in dead.iter_mut().enumerate() {
        worker.say("lock m");
        waiters(&holder.mutex("m"), number + 1).await;
    }
    let client = rig.client();
    let live = tokio::spawn(async move { client.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 4).await;
    dead.iter_mut().for_each(|worker| worker.kill9());
    drop(guard);
    // Three dead ones in front of it, each with a lease longer than the patience.
    let guard = soon("the live one gets in", live).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn others_a_suspended_waiter_costs_two_seconds_and_keeps_its_place() {
    let rig = Rig::new();
    let (holder, client) = (rig.client(), rig.client());
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut paused = rig.worker(LONG);
    paused.say("lock m");
    waiters(&holder.mutex("m"), 1).await;
    let live = tokio::spawn(async move { client.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 2).await;
    paused.stop();
    drop(guard);
    let guard = soon("the live one gets in", live).await.unwrap().unwrap();
    paused.cont();
    // Back in the queue, at its own place, and then inside.
    waiters(&holder.mutex("m"), 1).await;
    let before = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    assert!(paused.got("m") > before);
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
    // Nor when the store lost it and the holder does not know yet.
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis
        .command(&["DEL", "auto_mutex:{suite:m}", "auto_mutex:{suite:m}:held"]);
    let error = guard.refresh(LONG).await.unwrap_err();
    assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    assert_eq!(rig.redis.held(), 0);
    assert!(guard.is_lost());
}

#[tokio::test]
async fn others_a_guard_dropped_by_a_panic_releases() {
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let thread = std::thread::spawn(move || {
        let _guard = client.mutex("m").blocking_lock().unwrap();
        panic!("meant");
    });
    assert!(thread.join().is_err());
    drop(soon("released", other.mutex("m").lock()).await.unwrap());
}

#[tokio::test]
async fn others_a_server_that_is_down_is_no_absent_key() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().lease(LONG).patience(0.3)).unwrap();
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
    let client = Client::connect(rig.proxied_config().patience(0.3)).unwrap();
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

#[tokio::test]
async fn others_no_error_makes_a_hot_retry() {
    let rig = Rig::new();
    let client = rig.proxied_leasing(LEASE);
    let mutex = client.mutex("m");
    let _guard = mutex.lock().await.unwrap();
    let waiter = rig.proxied_leasing(LEASE);
    let _waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.map(drop) });
    waiters(&mutex, 1).await;
    // A broken connection, again and again.
    rig.proxy.refuse();
    rig.proxy.cut();
    let before = rig.proxy.connections();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let tried = rig.proxy.connections() - before;
    assert!(
        (1..=100).contains(&tried),
        "{tried} connections by two clients in a second"
    );
    rig.proxy.heal();
    // Errors of the server, again and again.
    becomes("both are back", async || mutex.is_locked().await.is_ok()).await;
    rig.redis
        .command(&["SET", "auto_mutex:{suite:m}", "foreign"]);
    let before = rig.redis.calls("evalsha");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = rig.redis.calls("evalsha") - before;
    assert!(asked <= 100, "{asked} requests by two clients in a second");
}

#[tokio::test]
async fn others_names_do_not_collide_locally() {
    let rig = Rig::new();
    let client = rig.client();
    let mut guards = Vec::new();
    for number in 0..2000 {
        let guard = client.mutex(format!("{number}")).try_lock().await.unwrap();
        guards.push(guard.unwrap_or_else(|| panic!("{number} met an earlier name")));
    }
    assert_eq!(rig.redis.held(), 2000);
    drop(guards);
    becomes("all are released", async || rig.redis.held() == 0).await;
}

#[tokio::test]
async fn others_an_idle_waiter_does_not_poll() {
    let rig = Rig::new();
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let client = rig.client();
    let waiting: Vec<_> = (0..200)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.mutex("m").lock().await.map(drop) })
        })
        .collect();
    waiters(&holder.mutex("m"), 1).await;
    let before = rig.redis.calls("evalsha");
    let connections = rig.redis.clients();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = rig.redis.calls("evalsha") - before;
    assert!(
        asked <= 8,
        "{asked} requests for 200 waiters in two seconds"
    );
    assert!(connections <= 2, "{connections} connections of two clients");
    drop(guard);
    for task in waiting {
        soon("everybody gets in", task).await.unwrap().unwrap();
    }
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
    assert!(!guard.unlock().await.unwrap());
    step("a stale release");
}
