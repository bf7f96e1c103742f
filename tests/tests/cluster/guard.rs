//! After a restart or failover, a node grants nothing until every lease that was granted before has ended.

use std::time::Duration;

use auto_mutex::{Client, LockError, Mutex};
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;

use crate::rig::{client, config, patient};

const BRIEFLY: Duration = Duration::from_millis(100);

/// Waits until a call says that the node grants nothing yet, and why. While the nodes stand still, a call says
/// something else.
async fn closed(mutex: Mutex, happened: &str) {
    let mutex = mutex.block(BRIEFLY);
    becomes("it says that it is closed", async || {
        match soon("an answer", mutex.lock()).await.map(drop) {
            Err(LockError::Unavailable { source, .. }) => source.to_string().contains(happened),
            answer => panic!("{answer:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn nodes_that_were_just_started_grant_nothing_unless_told_to() {
    let cluster = Cluster::with(Shape::default().without_replicas());
    let guarded = Client::connect(config(&cluster).restart_guard(true)).unwrap();
    for node in 0..PRIMARIES {
        let name = cluster.name_at("suite", "m", node);
        closed(guarded.mutex(&name), "was restarted").await;
    }
}

#[tokio::test]
async fn a_grant_that_no_replica_heard_of_is_not_given_again_before_it_ends() {
    let _watch = real_time();
    let cluster = Cluster::start();
    let [a, b] = [(); 2].map(|()| patient(&cluster));
    let [here, there] = [0, 1].map(|node| cluster.name_at("suite", "m", node));
    // From here on, the replica receives nothing from its primary.
    cluster.in_step(1);
    cluster.node(1 + PRIMARIES).stop();
    cluster
        .node(1)
        .command(&["CLIENT", "KILL", "TYPE", "replica"]);
    let guard = a.mutex(&there).lock().await.unwrap();
    cluster.node(1).kill9();
    cluster.node(1 + PRIMARIES).cont();
    cluster
        .node(1 + PRIMARIES)
        .command(&["CLUSTER", "FAILOVER", "TAKEOVER"]);
    cluster.taken_over(1 + PRIMARIES);
    let asking = tokio::spawn({
        let mutex = b.mutex(&there);
        async move { mutex.lock().await }
    });
    // Names of other nodes are granted at once.
    drop(soon("at once", b.mutex(&here).lock()).await.unwrap());
    let next = soon("granted", asking).await.unwrap().unwrap();
    assert!(guard.is_lost(), "granted before");
    assert!(next.fencing_token() > guard.fencing_token());
}

#[tokio::test]
async fn a_connection_does_not_outlive_the_epoch_of_its_node() {
    let cluster = Cluster::start();
    let client = client(&cluster);
    let name = cluster.name_at("suite", "m", 1);
    drop(client.mutex(&name).lock().await.unwrap());
    // While the node is a replica, the client sends it no requests except for an occasional question about the epoch.
    cluster.fail_over(1);
    becomes("it is left", async || cluster.node(1).members() == 0).await;
    cluster.fail_over(1);
    closed(client.mutex(&name), "was failed over").await;
}
