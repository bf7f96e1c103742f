//! A server that is restarted, with its data or without.

use auto_mutex_tests::events::{becomes, soon, with};
use auto_mutex_tests::redis::Options;
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn a_restart_without_data_is_told_and_tokens_still_grow() {
    let rig = Rig::new();
    let (holder, waiter) = (rig.client(), rig.client());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.restart();
    let next = soon("the waiter asks again", waiting).await.unwrap();
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
    becomes("it is noticed", async || !client.is_connected()).await;
    let asking = with(&client, |client| async move {
        client.mutex("other").lock().await.unwrap()
    });
    rig.redis.start_again();
    let other = soon("asked again", asking).await.unwrap();
    guard.check().unwrap();
    assert!(other.unlock().await.unwrap() && guard.unlock().await.unwrap());
}
