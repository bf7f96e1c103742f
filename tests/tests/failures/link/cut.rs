//! Connections that are cut or killed.

use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{Rig, all_are_back, waiters};

#[tokio::test]
async fn killed_connections_are_replaced_and_waiters_stay_in_order() {
    let rig = Rig::new();
    let holder = rig.client();
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let (mut waiting, mut clients) = (Vec::new(), Vec::new());
    for number in 0..4 {
        let client = rig.client();
        let own = client.mutex("m").owner(format!("{number}"));
        waiting.push(tokio::spawn(async move { own.lock().await.map(drop) }));
        waiters(&mutex, number + 1).await;
        clients.push(client);
    }
    for _ in 0..3 {
        rig.redis.kill_clients();
        // All clients have new connections before the next kill.
        becomes("all are back", async || rig.redis.members() == 5).await;
        all_are_back(&clients).await;
        let waiters = mutex.info().await.unwrap().waiters.into_iter();
        let owners: Vec<_> = waiters.filter_map(|waiter| waiter.owner).collect();
        assert_eq!(owners, ["0", "1", "2", "3"]);
    }
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    for task in waiting {
        soon("everybody gets in", task).await.unwrap().unwrap();
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
