//! Links that are slow, frozen or half-open.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, config, waiters};

/// Over such a link the scripts alone take a second, which is less than the time limit of a connection attempt.
#[tokio::test]
async fn a_link_of_50_kb_a_second_connects_and_connects_again() {
    let rig = Rig::new();
    rig.proxy.pace(50_000);
    let client = tokio::task::spawn_blocking({
        let config = rig.proxied_config().store_timeout("60s");
        move || Client::connect(config).unwrap()
    });
    let client = soon("set up", client).await.unwrap();
    for round in 0..3 {
        // The second reconnect finds a server without the scripts.
        if round == 1 {
            rig.redis.command(&["SCRIPT", "FLUSH"]);
        }
        rig.proxy.cut();
        let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
    }
}

/// A connection attempt lasts as long as it makes progress, and a slow server is not considered dead after a reconnect.
#[tokio::test]
async fn a_server_that_takes_longer_than_usual_for_each_answer_is_of_use() {
    let _watch = real_time();
    let rig = Rig::new();
    let config = rig.proxied_config().lease(LONG).store_timeout("60s");
    let client = Client::connect(config.connect_timeout("60s")).unwrap();
    rig.proxy.delay(Duration::from_millis(800));
    rig.proxy.cut();
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    let connections = rig.proxy.connections();
    assert!(soon("released", guard.unlock()).await.unwrap());
    let guard = soon("granted again", client.mutex("m").lock()).await;
    drop(guard.unwrap());
    assert_eq!(rig.proxy.connections(), connections, "it was given up");
}

#[tokio::test]
async fn one_round_trip_takes_a_free_lock() {
    let rig = Rig::new();
    let client = rig.proxied();
    client
        .mutex("m")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
    rig.proxy.delay(Duration::from_millis(200));
    let calls = || {
        let all = ["evalsha", "script", "subscribe"];
        all.map(|command| rig.redis.calls(command))
    };
    let before = calls();
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    assert_eq!(calls(), [before[0] + 1, before[1], before[2]]);
    drop(guard);
}

/// The ids of the connections of the library.
fn connections(servers: &[Redis]) -> Vec<String> {
    let mut found = Vec::new();
    for server in servers {
        let clients = format!("{:?}", server.command(&["CLIENT", "LIST"]));
        let lines = clients
            .split("id=")
            .filter(|line| line.contains("name=auto_mutex:"));
        found.extend(lines.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())));
    }
    // A server lists its connections in no order.
    found.sort();
    found
}

/// A stall of all servers, as caused by an fsync or a fork, costs no connection and no lock. One of the clients sends
/// more than the servers' sockets take. The lease is longer than the default, because the machine may stand still as
/// well.
async fn a_stall_costs_nothing(url: String, servers: &[Redis]) {
    let config = config(&url).restart_guard(false).lease(LONG);
    let config = config.store_timeout("60s");
    let [holder, busy] = [(); 2].map(|()| Client::connect(config.clone()).expect("a client"));
    let held = holder.mutex("held").lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = busy.mutex("held");
        async move { mutex.lock().await }
    });
    waiters(&holder.mutex("held"), 1).await;
    let before = connections(servers);
    assert!(before.len() >= 2, "{before:?}");
    servers.iter().for_each(Redis::stop);
    let calls: Vec<_> = (0..1000)
        .map(|number| {
            let mutex = busy.mutex(format!("busy-{number}-{}", "x".repeat(200)));
            tokio::spawn(async move { mutex.lock().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    servers.iter().for_each(Redis::cont);
    for call in calls {
        drop(soon("granted", call).await.unwrap().expect("granted"));
    }
    assert_eq!(connections(servers), before);
    held.check().unwrap();
    assert!(soon("released", held.unlock()).await.unwrap());
    drop(soon("handed on", waiting).await.unwrap().expect("granted"));
}

/// The server alone, the nodes of a cluster, and the servers of a quorum.
#[tokio::test]
async fn a_server_that_stands_still_for_five_seconds_costs_nothing() {
    let _watch = real_time();
    let server = [Redis::start()];
    let shape = Shape::default().without_replicas();
    let cluster = Cluster::with(shape.node_timeout(Duration::from_secs(60)));
    let quorum = Redis::several(3, &Options::default());
    let url = quorum_url(quorum.iter().map(Redis::port));
    tokio::join!(
        a_stall_costs_nothing(server[0].url(), &server),
        a_stall_costs_nothing(cluster.url(), cluster.nodes()),
        a_stall_costs_nothing(url, &quorum),
    );
}

#[tokio::test]
async fn a_frozen_link_costs_the_lock_but_never_the_truth() {
    let _watch = real_time();
    let rig = Rig::new();
    let lease = Duration::from_millis(900);
    let client = Client::connect(rig.proxied_config().lease(lease).store_timeout("30s")).unwrap();
    let other = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.proxy.freeze();
    soon("the holder knows by its own clock", guard.lost()).await;
    let next = soon("the next one", other.mutex("m").lock()).await.unwrap();
    rig.proxy.thaw();
    // The delayed renewals arrive now; they must not take the lock from the next holder.
    soon("an answer", client.ping()).await.unwrap();
    next.check().unwrap();
    assert!(guard.is_lost() && was_lost(guard.unlock().await));
    assert!(next.unlock().await.unwrap());
}
