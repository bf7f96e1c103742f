//! A replica takes over: by command, or because its primary has failed.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{LEASE, config, patient, waiters};

/// A cluster whose replicas take over early, but only after a silence that is longer than stalls of the machine.
fn quick() -> Shape {
    Shape::default().node_timeout(Duration::from_secs(3))
}

#[tokio::test]
async fn a_lock_and_its_queue_survive_a_failover_by_command() {
    let cluster = Cluster::start();
    // A failover by command that is tried again stops writes for five seconds.
    let lease = Duration::from_secs(12);
    let [holder, waiter] = [(); 2].map(|()| {
        let config = config(&cluster).longest_lease(lease).lease(lease);
        Client::connect(config.store_timeout("60s")).expect("a client")
    });
    let name = cluster.name_at("suite", "m", 1);
    let guard = holder.mutex(&name).lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = waiter.mutex(&name);
        async move { mutex.lock().await }
    });
    waiters(&holder.mutex(&name), 1).await;
    for _ in 0..2 {
        cluster.fail_over(1);
        let primary = cluster.primary_of(1).unwrap();
        becomes("both are at the new primary", async || {
            let _ = holder.mutex(&name).is_locked().await;
            cluster.node(primary).members() == 2
        })
        .await;
        guard.check().unwrap();
    }
    let token = guard.fencing_token();
    assert!(soon("released", guard.unlock()).await.unwrap());
    let next = soon("woken", waiting).await.unwrap().unwrap();
    assert!(next.fencing_token() > token);
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn a_kept_lock_is_recalled_at_the_new_primary() {
    let cluster = Cluster::start();
    let [keeper, other] = [(); 2].map(|()| patient(&cluster));
    let name = cluster.name_at("suite", "m", 1);
    let mutex = keeper.mutex(&name).retain("600s");
    let mut last = 0;
    for fails_over in [false, true] {
        for _ in 0..3 {
            let guard = soon("the lock", mutex.lock()).await.unwrap();
            assert!(guard.fencing_token() > last);
            last = guard.fencing_token();
        }
        if fails_over {
            cluster.fail_over(1);
        }
        let theirs = soon("recalled", other.mutex(&name).lock()).await.unwrap();
        assert!(theirs.fencing_token() > last);
        last = theirs.fencing_token();
        assert!(theirs.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn the_replica_of_a_killed_primary_serves_its_names() {
    let cluster = Cluster::with(quick());
    // The lease is long enough for a renewal at the new primary.
    let lease = Duration::from_secs(12);
    let leasing = config(&cluster).longest_lease(lease).lease(lease);
    let client = Client::connect(leasing.store_timeout("60s")).unwrap();
    let [here, there] = [0, 1].map(|node| cluster.name_at("suite", "m", node));
    let guard = client.mutex(&there).lock().await.unwrap();
    let token = guard.fencing_token();
    cluster.in_step(1);
    cluster.node(1).kill9();
    let asking = tokio::spawn({
        let mutex = client.mutex(format!("{there}x"));
        async move { mutex.lock().await }
    });
    // Calls for names of other nodes do not wait for the take-over.
    let other = soon("at once", client.mutex(&here).lock()).await.unwrap();
    assert!(other.unlock().await.unwrap());
    cluster.taken_over(1 + PRIMARIES);
    drop(soon("whatever its slot", asking).await.unwrap().unwrap());
    soon("renewed", guard.refresh(Duration::from_secs(60)))
        .await
        .unwrap();
    assert!(soon("released", guard.unlock()).await.unwrap());
    let next = soon("granted by the new one", client.mutex(&there).lock())
        .await
        .unwrap();
    assert!(next.fencing_token() > token);
    // The killed node comes back as a replica; this does not affect the lock.
    cluster.node(1).start_again();
    cluster.works();
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn a_suspended_primary_is_left_and_not_listened_to_when_it_wakes() {
    let cluster = Cluster::with(quick());
    let [a, b] = [(); 2].map(|()| patient(&cluster));
    let name = cluster.name_at("suite", "m", 2);
    let guard = a.mutex(&name).lock().await.unwrap();
    cluster.in_step(2);
    cluster.node(2).stop();
    // This request is in flight to the suspended primary.
    let waiting = tokio::spawn({
        let mutex = b.mutex(&name);
        async move { mutex.lock().await }
    });
    cluster.taken_over(2 + PRIMARIES);
    cluster.node(2).cont();
    becomes("it is a replica", async || {
        cluster
            .standing(2)
            .is_some_and(|standing| !standing.primary)
    })
    .await;
    // The guard may still hold, or may have lost the lock because these steps took longer than the lease. But guard and
    // waiter must not both hold.
    let held = guard.check().is_ok();
    assert!(!(held && waiting.is_finished()));
    let token = guard.fencing_token();
    let _ = soon("an answer", guard.unlock()).await;
    let next = soon("granted by the new one", waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(next.fencing_token() > token);
    assert!(soon("an answer", next.unlock()).await.unwrap());
}

#[tokio::test]
async fn names_of_a_dead_node_are_unavailable_until_somebody_takes_over() {
    let cluster = Cluster::with(Shape::default().full_coverage());
    let leasing = config(&cluster).longest_lease(LEASE).lease(LEASE);
    let client = Client::connect(leasing.store_timeout("500ms")).unwrap();
    let name = cluster.name_at("suite", "m", 0);
    cluster.in_step(0);
    cluster.node(0).kill9();
    let error = soon("patience ends", client.mutex(&name).lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    // The test orders the takeover, because no replica takes over by itself for half a minute.
    let replica = cluster.node(PRIMARIES);
    replica.command(&["CLUSTER", "FAILOVER", "TAKEOVER"]);
    cluster.taken_over(PRIMARIES);
    becomes("served again", async || {
        client.mutex(&name).lock().await.is_ok()
    })
    .await;
}
