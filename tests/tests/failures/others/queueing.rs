//! The order of waiters, and the cost of waiting.

use std::time::Duration;

use auto_mutex_tests::events::{LONG, becomes, soon};

use crate::rig::{Rig, waiters};

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
    // Three killed waiters come before this one; each has a lease that is longer than this test waits.
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
    // The suspended waiter is back in the queue at its own place, and is then granted.
    waiters(&holder.mutex("m"), 1).await;
    let before = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    assert!(paused.got("m") > before);
}

#[tokio::test]
async fn others_names_do_not_collide_locally() {
    let rig = Rig::new();
    let client = rig.client();
    let mut guards = Vec::new();
    for number in 0..2000 {
        let mutex = client.mutex(format!("{number}"));
        let guard = soon("it meets no earlier name", mutex.lock()).await;
        guards.push(guard.unwrap());
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
