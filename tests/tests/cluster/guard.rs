//! After a restart or failover, a node grants nothing until every lease that was granted before has ended.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::soon;

use crate::rig::{LEASE, config, patient};

const BRIEFLY: Duration = Duration::from_millis(100);

/// Checks the error of a node that grants nothing yet.
#[track_caller]
fn closed<T>(result: Result<T, LockError>, happened: &str) {
    match result {
        Err(LockError::Unavailable { source, .. }) => {
            let text = source.to_string();
            assert!(text.contains(happened), "{text}");
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("granted, or found busy"),
    }
}

#[tokio::test]
async fn nodes_that_were_just_started_grant_nothing_unless_told_to() {
    let cluster = Cluster::with(Shape::default().without_replicas());
    let guarded =
        Client::connect(config(&cluster).restart_guard(true).store_timeout("1s")).unwrap();
    for node in 0..PRIMARIES {
        let name = cluster.name_at("suite", "m", node);
        let mutex = guarded.mutex(&name).block(BRIEFLY);
        closed(soon("an answer", mutex.lock()).await, "was restarted");
    }
}

#[tokio::test]
async fn a_grant_that_no_replica_heard_of_is_not_given_again_before_it_ends() {
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
    let other = soon("at once", b.mutex(&here).lock()).await.unwrap();
    assert!(other.unlock().await.unwrap());
    soon("told of the loss", guard.lost()).await;
    assert!(!asking.is_finished(), "granted before");
    let next = soon("granted", asking).await.unwrap().unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn who_comes_after_a_failover_keeps_to_what_others_noted() {
    let cluster = Cluster::start();
    let first = patient(&cluster);
    let name = cluster.name_at("suite", "m", 2);
    cluster.fail_over(2);
    let leasing = config(&cluster).longest_lease(LEASE).lease(LEASE);
    let late = Client::connect(leasing.store_timeout("1s")).unwrap();
    let mutex = late.mutex(&name).block(BRIEFLY);
    closed(soon("an answer", mutex.lock()).await, "was failed over");
    let guard = soon("open again", first.mutex(&name).lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // The clients record the node's term in a key of that node, so all clients agree that the node is open again.
    let sooner = LEASE * 2 / 3;
    let mutex = late.mutex(&name).block(sooner);
    assert!(soon("at once", mutex.lock()).await.is_ok());
    let newcomer = patient(&cluster);
    let mutex = newcomer.mutex(&name).block(sooner);
    assert!(soon("at once", mutex.lock()).await.is_ok());
}

#[tokio::test]
async fn a_connection_does_not_outlive_the_term_of_its_node() {
    let cluster = Cluster::start();
    let client = patient(&cluster);
    let name = cluster.name_at("suite", "m", 1);
    let guard = client.mutex(&name).lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // While the node is a replica, the client sends it no requests except for an occasional question about the term.
    cluster.fail_over(1);
    soon("it is left", async {
        while cluster.node(1).members() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    cluster.fail_over(1);
    let mutex = client.mutex(&name).block(BRIEFLY);
    let error = soon("an answer", mutex.lock()).await.map(drop).unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    let guard = soon("open again", client.mutex(&name).lock()).await;
    assert!(guard.unwrap().unlock().await.unwrap());
}
