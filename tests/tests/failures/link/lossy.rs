//! Requests and replies that are lost, late or sent twice.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::seed::Seed;

use crate::rig::Rig;

#[tokio::test]
async fn a_lost_reply_to_unlock_still_tells_the_truth() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    for round in 0..5 {
        let guard = client.mutex("m").lock().await.unwrap();
        rig.proxy.lose_reply_after(round);
        // The call succeeds, although the resent release finds the lock free.
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
async fn a_late_copy_of_a_request_takes_nothing() {
    let rig = Rig::new();
    let config = rig.proxied_config().lease(LONG).store_timeout("60s");
    let (client, other) = (Client::connect(config).unwrap(), rig.client());
    for cancel in [false, true] {
        // The request is in flight when the client replaces the connection.
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
            assert!(asking.await.unwrap_err().is_cancelled());
            // This request also uses the new connection, and so follows what is left of the cancelled call.
            let after = soon("another lock", client.mutex("after").lock()).await;
            assert!(after.unwrap().unlock().await.unwrap());
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
