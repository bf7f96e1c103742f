//! Nodes that are down, for a while or for good, without a replica to take over.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::redis::Options;

use crate::rig::{client, config, waiters};

fn persistent() -> Shape {
    let options = Options::default().survives_kills();
    Shape::default().options(options).without_replicas()
}

#[tokio::test]
async fn a_node_that_is_down_is_an_outage_of_its_names_only() {
    let cluster = Cluster::with(persistent());
    let client = Client::connect(config(&cluster).store_timeout("1s")).unwrap();
    let [here, there] = [0, 1].map(|node| cluster.name_at("suite", "m", node));
    let holder = self::client(&cluster);
    let held = holder.mutex(&there).lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = client.mutex(&there).block(Duration::from_secs(600));
        async move { mutex.lock().await }
    });
    waiters(&holder.mutex(&there), 1).await;
    cluster.node(1).kill9();
    becomes("it is noticed", async || !client.is_connected()).await;
    let asking = tokio::spawn({
        let mutex = client.mutex(&there).block(Duration::from_millis(100));
        async move { mutex.lock().await }
    });
    for task in [waiting, asking] {
        let error = soon("patience ends", task).await.unwrap().unwrap_err();
        assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    }
    // Calls for the other name do not wait. A single one that waited for the dead node would wait for too long.
    let patient = self::client(&cluster);
    for _ in 0..20 {
        let guard = soon("the others go on", patient.mutex(&here).lock()).await;
        assert!(guard.unwrap().unlock().await.unwrap());
    }
    cluster.node(1).start_again();
    held.check().unwrap();
    assert!(soon("released", held.unlock()).await.unwrap());
    // The pause before the client connects again may be longer than the store timeout, so some calls may still fail.
    becomes("the lock is free", async || {
        match client.mutex(&there).lock().await {
            Ok(guard) => guard.unlock().await.unwrap(),
            Err(error) => {
                assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
                false
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_whole_cluster_goes_and_comes_back() {
    let cluster = Cluster::with(persistent().full_coverage());
    let client = Client::connect(config(&cluster).store_timeout("60s")).unwrap();
    let names = [0, 1, 2].map(|node| cluster.name_at("suite", "m", node));
    let mut guards = Vec::new();
    for name in &names {
        guards.push(client.mutex(name).lock().await.unwrap());
    }
    for node in cluster.nodes() {
        node.kill9();
    }
    let impatient = client.clone();
    let asking = tokio::spawn(async move { impatient.mutex("other").lock().await });
    for node in cluster.nodes() {
        node.start_again();
    }
    cluster.works();
    let other = soon("asked again", asking).await.unwrap().unwrap();
    assert!(other.unlock().await.unwrap());
    for guard in guards {
        guard.check().unwrap();
        assert!(soon("released", guard.unlock()).await.unwrap());
    }
}

#[tokio::test]
async fn a_cluster_that_serves_nothing_is_unavailable_and_no_timeout() {
    let cluster = Cluster::with(persistent().full_coverage());
    let client = Client::connect(config(&cluster).store_timeout("1s")).unwrap();
    let name = cluster.name_at("suite", "m", 0);
    let holder = self::client(&cluster);
    let held = holder.mutex(&name).lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = client.mutex(&name).block(Duration::from_secs(600));
        async move { mutex.lock().await }
    });
    waiters(&holder.mutex(&name), 1).await;
    // A slot of another node is not served, so with full coverage the cluster serves no slot.
    let lost = *Cluster::home_slots(2).start();
    cluster.abandon_slot(lost, 2);
    becomes("it says so", async || {
        match soon("an answer", client.mutex(&name).lock()).await {
            Err(LockError::Unavailable { source, .. }) => {
                source.to_string().contains("CLUSTERDOWN")
            }
            answer => panic!("{answer:?}"),
        }
    })
    .await;
    let error = soon("an answer", waiting)
        .await
        .unwrap()
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    cluster.take_slot(lost, 2);
    cluster.works();
    held.check().unwrap();
    assert!(soon("released", held.unlock()).await.unwrap());
    drop(soon("free", holder.mutex(&name).lock()).await.unwrap());
}
