//! A replica takes over: by command, or because its primary has failed.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::cluster::{Cluster, PRIMARIES};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;

use crate::rig::{config, patient, waiters};

/// Makes the replica of a primary that has failed take over at once: Redis itself would wait for its node timeout.
fn take_over(cluster: &Cluster, home: usize) {
    let replica = cluster.node(home + PRIMARIES);
    replica.command(&["CLUSTER", "FAILOVER", "TAKEOVER"]);
    cluster.taken_over(home + PRIMARIES);
}

#[tokio::test]
async fn a_lock_and_its_queue_survive_a_failover_by_command() {
    let _watch = real_time();
    let cluster = Cluster::start();
    // A failover by command that is tried again stops writes for five seconds. The waiter is granted after a longer
    // time than this.
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
    cluster.fail_over(1);
    let primary = cluster.primary_of(1).unwrap();
    becomes("both are at the new primary", async || {
        let _ = holder.mutex(&name).is_locked().await;
        cluster.node(primary).members() == 2
    })
    .await;
    guard.check().unwrap();
    let token = guard.fencing_token();
    assert!(soon("released", guard.unlock()).await.unwrap());
    let next = soon("woken", waiting).await.unwrap().unwrap();
    assert!(next.fencing_token() > token);
}

#[tokio::test]
async fn a_kept_lock_is_recalled_at_the_new_primary() {
    let _watch = real_time();
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
    }
}

#[tokio::test]
async fn the_replica_of_a_killed_primary_serves_its_names() {
    let _watch = real_time();
    let cluster = Cluster::start();
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
    drop(soon("at once", client.mutex(&here).lock()).await.unwrap());
    take_over(&cluster, 1);
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
    drop(next);
}

#[tokio::test]
async fn a_suspended_primary_is_left_and_not_listened_to_when_it_wakes() {
    let _watch = real_time();
    let cluster = Cluster::start();
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
    take_over(&cluster, 2);
    cluster.node(2).cont();
    becomes("it is a replica", async || {
        cluster
            .standing(2)
            .is_some_and(|standing| !standing.primary)
    })
    .await;
    // The guard may still hold, or may have lost the lock because these steps took longer than the lease. But guard and
    // waiter must not both hold.
    let is_granted = waiting.is_finished();
    assert!(!(is_granted && guard.check().is_ok()));
    let token = guard.fencing_token();
    let _ = soon("an answer", guard.unlock()).await;
    let next = soon("granted by the new one", waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(next.fencing_token() > token);
}
