//! The connection: slow, cut, half-open, losing replies.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::seed::Seed;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn a_slow_link_only_takes_longer() {
    let rig = Rig::new();
    let (client, holder) = (rig.proxied(), rig.client());
    rig.proxy.delay(Duration::from_millis(150));
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { client.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 1).await;
    drop(guard);
    let guard = soon("woken", waiting).await.unwrap().unwrap();
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn one_round_trip_takes_a_free_lock() {
    let rig = Rig::new();
    let client = rig.proxied();
    client
        .mutex("m")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
    let delay = Duration::from_millis(200);
    rig.proxy.delay(delay);
    let before = rig.redis.calls("evalsha");
    let started = Instant::now();
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    assert!(started.elapsed() < delay * 4, "more than one round trip");
    assert_eq!(rig.redis.calls("evalsha") - before, 1);
    drop(guard);
}

#[tokio::test]
async fn a_lost_reply_to_unlock_still_tells_the_truth() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    for round in 0..5 {
        let guard = client.mutex("m").lock().await.unwrap();
        rig.proxy.lose_reply_after(round);
        // It was held, and it was this call that released it: a second sending finds it gone already.
        let truth = soon("an answer", guard.unlock()).await;
        assert!(truth.is_ok(), "{truth:?}");
        assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_lost_request_is_sent_again() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    rig.proxy.lose_request();
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    rig.proxy.lose_request();
    assert!(soon("released", guard.unlock()).await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
    let guard = client.mutex("m").lock().await.unwrap();
    rig.proxy.lose_request();
    drop(guard);
    drop(
        soon("a dropped guard's release too", other.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[tokio::test]
async fn a_half_open_link_is_noticed_and_replaced() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().lease(3).patience(60)).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    drop(guard);
    let connections = rig.proxy.connections();
    rig.proxy.swallow_replies();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("other").lock().await }
    });
    becomes("a new connection is tried", async || {
        rig.proxy.connections() > connections
    })
    .await;
    rig.proxy.heal();
    let guard = soon("granted over the new one", asking)
        .await
        .unwrap()
        .unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_frozen_link_costs_the_lock_but_never_the_truth() {
    let rig = Rig::new();
    let lease = Duration::from_millis(900);
    let client = Client::connect(rig.proxied_config().lease(lease).patience(30)).unwrap();
    let other = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.proxy.freeze();
    soon("the holder knows by its own clock", guard.lost()).await;
    let next = soon("the next one", other.mutex("m").lock()).await.unwrap();
    rig.proxy.thaw();
    // The renewals that were held back arrive now; they must not take it from the next one.
    client
        .mutex("other")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
    next.check().unwrap();
    assert!(guard.is_lost() && !guard.unlock().await.unwrap());
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn patience_ends_a_call_that_the_store_does_not_answer() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().lease(LONG).patience(0.3)).unwrap();
    let other = rig.client();
    rig.proxy.freeze();
    let error = soon("an answer", client.mutex("m").lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    let blocked = client.mutex("m").block(Duration::from_secs(100));
    let error = soon("patience is shorter than block", blocked.lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(error, LockError::Unavailable { .. }),
        "an outage is no timeout: {error:?}"
    );
    rig.proxy.thaw();
    // The requests that were given up arrive now, and must leave nothing behind.
    drop(
        soon("nothing is left behind", other.mutex("m").lock())
            .await
            .unwrap(),
    );
    becomes("nobody holds or waits", async || {
        rig.redis.held() == 0 && rig.redis.waiting() == 0
    })
    .await;
}

#[tokio::test]
async fn cuts_at_any_moment_leave_nothing_behind() {
    let mut seed = Seed::announce("cuts_at_any_moment_leave_nothing_behind");
    let rig = Rig::new();
    let clients = [rig.proxied(), rig.proxied()];
    for _ in 0..30 {
        let tasks: Vec<_> = (0..4)
            .map(|number| {
                let client = clients[number % 2].clone();
                tokio::spawn(async move {
                    let guard = client.mutex("m").lock().await.unwrap();
                    tokio::task::yield_now().await;
                    drop(guard);
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_micros(seed.below(3000))).await;
        match seed.below(4) {
            0 => rig.proxy.cut(),
            1 => rig.proxy.lose_request(),
            _ => rig.proxy.lose_reply_after(seed.below(200) as usize),
        }
        for task in tasks {
            soon("everybody gets in", task).await.unwrap();
        }
    }
    rig.proxy.heal();
    becomes("nobody holds or waits", async || {
        rig.redis.held() == 0 && rig.redis.waiting() == 0
    })
    .await;
    assert_eq!(rig.redis.keys_without_ttl(), []);
}

#[tokio::test]
async fn killed_connections_are_replaced_and_waiters_stay_in_order() {
    let rig = Rig::new();
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..4 {
        let client = rig.client();
        waiting.push(tokio::spawn(async move { client.mutex("m").lock().await }));
        waiters(&holder.mutex("m"), number + 1).await;
    }
    for _ in 0..3 {
        rig.redis.kill_clients();
        // Who is not back when its turn comes would be passed over.
        becomes("all are back", async || rig.redis.members() == 5).await;
    }
    // Who is not there when its turn comes is passed over: the order is that of those who are back.
    becomes("all are back", async || {
        let channels = ["PUBSUB", "CHANNELS", "auto_mutex:member:*"];
        rig.redis.command(&channels).texts().len() == 5
    })
    .await;
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    for task in waiting {
        let guard = soon("in order", task).await.unwrap().unwrap();
        assert!(guard.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn a_release_while_all_are_cut_off_forgets_nobody() {
    for _ in 0..5 {
        let rig = Rig::new();
        let (holder, releaser) = (rig.client(), rig.client());
        let _guard = holder.mutex("m").lock().await.unwrap();
        let mut waiting = Vec::new();
        for number in 0..4 {
            let client = rig.proxied();
            waiting.push(tokio::spawn(async move {
                let guard = client.mutex("m").lock().await.unwrap();
                guard.unlock().await.unwrap()
            }));
            waiters(&holder.mutex("m"), number + 1).await;
        }
        rig.proxy.cut();
        assert!(releaser.mutex("m").force_unlock().await.unwrap());
        // In whatever order: who was not back when its turn came was passed over, and kept its place.
        for task in waiting {
            assert!(soon("everybody gets in", task).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_late_copy_of_a_request_takes_nothing() {
    let rig = Rig::new();
    let config = rig.proxied_config().lease(LONG).patience(60);
    let (client, other) = (Client::connect(config).unwrap(), rig.client());
    for cancel in [false, true] {
        // The request is on its way when the connection is given up for another one.
        rig.proxy.freeze_existing();
        let connections = rig.proxy.connections();
        let asking = tokio::spawn({
            let client = client.clone();
            async move { client.mutex("m").lock().await }
        });
        becomes("a new connection", async || {
            rig.proxy.connections() > connections
        })
        .await;
        if cancel {
            asking.abort();
        } else {
            let guard = soon("granted over the new one", asking)
                .await
                .unwrap()
                .unwrap();
            assert!(guard.unlock().await.unwrap());
        }
        becomes("all is over", async || rig.redis.held() == 0).await;
        let guard = soon("free", other.mutex("m").lock()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
        let before = rig.redis.calls("evalsha");
        rig.proxy.thaw();
        becomes("the late copy arrives", async || {
            rig.redis.calls("evalsha") > before
        })
        .await;
        assert_eq!(
            (rig.redis.held(), rig.redis.waiting()),
            (0, 0),
            "a ghost (cancelled: {cancel})"
        );
        let guard = other.mutex("m").try_lock().await.unwrap().expect("free");
        assert!(guard.unlock().await.unwrap());
    }
}
