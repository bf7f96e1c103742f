//! The order of waiters, and the cost of waiting.

use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn others_names_do_not_collide_locally() {
    let rig = Rig::new();
    let client = rig.client();
    let mut guards = Vec::new();
    for number in 0..300 {
        let mutex = client.mutex(format!("{number}"));
        let guard = soon("it meets no earlier name", mutex.lock()).await;
        guards.push(guard.unwrap());
    }
    assert_eq!(rig.redis.held(), 300);
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
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = rig.redis.calls("evalsha") - before;
    assert!(
        asked <= 8,
        "{asked} requests for 200 waiters in two seconds"
    );
    // A connection of the test that used this server before may still be closing.
    becomes("the two clients have a connection each", async || {
        rig.redis.clients() <= 2
    })
    .await;
    drop(guard);
    for task in waiting {
        soon("everybody gets in", task).await.unwrap().unwrap();
    }
}
