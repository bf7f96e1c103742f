//! A server that is restarted, with its data or without.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::redis::Options;
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, all_are_back, config, waiters};

#[tokio::test]
async fn a_restart_with_data_keeps_holder_and_queue() {
    let rig = Rig::with(Options::default().survives_kills());
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let (mut waiting, mut clients) = (Vec::new(), Vec::new());
    for number in 0..3 {
        let client =
            Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("60s")).unwrap();
        let mutex = client.mutex("m");
        waiting.push(tokio::spawn(async move { mutex.lock().await }));
        waiters(&holder.mutex("m"), number + 1).await;
        clients.push(client);
    }
    rig.redis.restart();
    all_are_back(&clients).await;
    guard.check().unwrap();
    let mut last = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    for task in waiting {
        let guard = soon("in order", task).await.unwrap().unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        assert!(guard.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn a_restart_without_data_is_told_and_tokens_still_grow() {
    let rig = Rig::new();
    let lease = Duration::from_secs(3);
    let holder =
        Client::connect(config(&rig.redis.url()).lease(lease).store_timeout("60s")).unwrap();
    let waiter =
        Client::connect(config(&rig.redis.url()).lease(lease).store_timeout("60s")).unwrap();
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.restart();
    let next = soon("the waiter asks again", waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    soon("the former holder learns it", guard.lost()).await;
    assert!(was_lost(guard.unlock().await));
    next.check().unwrap();
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn an_outage_shorter_than_the_lease_costs_nothing() {
    let rig = Rig::with(Options::default().survives_kills());
    let client = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis.kill9();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("other").lock().await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    rig.redis.start_again();
    let other = soon("asked again", asking).await.unwrap().unwrap();
    guard.check().unwrap();
    assert!(other.unlock().await.unwrap() && guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_release_during_an_outage_is_made_up_for() {
    let rig = Rig::with(Options::default().survives_kills());
    let (client, other) = (rig.client(), rig.client());
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis.kill9();
    drop(guard);
    rig.redis.start_again();
    // The release arrives long before the lease would end.
    let guard = soon("released after all", other.mutex("m").lock())
        .await
        .unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_suspended_server_goes_on_where_it_was() {
    let rig = Rig::new();
    let client =
        Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("60s")).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis.stop();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("other").lock().await }
    });
    tokio::time::sleep(Duration::from_millis(700)).await;
    rig.redis.cont();
    let other = soon("answered late", asking).await.unwrap().unwrap();
    guard.check().unwrap();
    assert!(other.unlock().await.unwrap() && guard.unlock().await.unwrap());
}
