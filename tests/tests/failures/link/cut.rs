//! Connections that are cut or killed.

use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{Rig, waiters};

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
        // All clients have new connections before the next kill.
        becomes("all are back", async || rig.redis.members() == 5).await;
    }
    // All waiters must be back before the release, because a missing one would be passed over.
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
        // In any order, because a waiter that was missing when its turn came was passed over, and kept its place.
        for task in waiting {
            assert!(soon("everybody gets in", task).await.unwrap());
        }
    }
}
