//! Set-up with a cluster URL, and the errors of set-up.

use auto_mutex::{Client, Config, LockError, SetupError};
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::config;

fn refused(url: &str) -> SetupError {
    let config = Config::new(url).unwrap().connect_timeout("8s");
    Client::connect(config).map(drop).unwrap_err()
}

fn without_replicas() -> Cluster {
    Cluster::with(Shape::default().without_replicas())
}

#[test]
fn a_server_on_its_own_is_no_cluster_and_a_node_is_no_server_on_its_own() {
    let (redis, cluster) = (Redis::start(), without_replicas());
    let error = refused(&format!("redis-cluster://127.0.0.1:{}", redis.port()));
    assert!(
        matches!(&error, SetupError::UnsupportedStore { scheme, reason, .. }
            if scheme == "redis-cluster" && reason.contains("`redis://`")),
        "{error:?}"
    );
    let error = refused(&cluster.node(0).url());
    assert!(
        matches!(&error, SetupError::UnsupportedStore { scheme, reason, .. }
            if scheme == "redis" && reason.contains("`redis-cluster://`")),
        "{error:?}"
    );
}

#[test]
fn the_rule_of_the_rights_is_enough_and_no_right_is_too_many() {
    let rule = auto_mutex::acl_rule("redis-cluster://h")
        .unwrap()
        .to_string();
    for missing in ["", "+cluster|slots", "+publish"] {
        let rule = rule.replace(missing, "");
        let options = Options::default().user("locks", "canary", &rule);
        let cluster = Cluster::with(Shape::default().options(options).without_replicas());
        let connected = Client::connect(config(&cluster));
        if missing.is_empty() {
            let client = connected.unwrap();
            let name = cluster.name_at("suite", "m", 1);
            let guard = client.mutex(&name).blocking_lock().unwrap();
            let slot = cluster.slot(&format!("suite:{name}"));
            let migration = cluster.migrate(slot, 1, 0);
            migration.move_keys();
            guard.blocking_refresh(LONG).unwrap();
            migration.finish();
            assert!(guard.blocking_unlock().unwrap());
        } else {
            let error = connected.map(drop).unwrap_err();
            assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");
        }
    }
}

#[test]
fn dead_nodes_of_the_url_are_skipped_and_those_not_named_are_found() {
    let cluster = Cluster::start();
    // The URL contains two nodes: a replica, and one that does not exist.
    let url = format!("{},127.0.0.1:1", cluster.url_of(&[PRIMARIES]));
    let config = Config::new(url).unwrap().restart_guard(false).lease(LONG);
    let config = config.connect_timeout("60s");
    let client = Client::connect(config.namespace("suite")).unwrap();
    for node in 0..PRIMARIES {
        let name = cluster.name_at("suite", "m", node);
        assert!(client.mutex(&name).blocking_try_lock().unwrap().is_some());
    }
    for node in 0..PRIMARIES {
        assert_eq!(
            cluster.node(node).members(),
            1,
            "subscribed at each primary"
        );
    }
}

#[test]
fn nobody_at_home_is_unreachable() {
    let error = refused("redis-cluster://127.0.0.1:1,127.0.0.1:2");
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    // A node that belongs to no cluster yet.
    let lonely = Redis::with(Options::default().cluster());
    let error = refused(&format!("redis-cluster://127.0.0.1:{}", lonely.port()));
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_service_starts_before_its_cluster() {
    let cluster = without_replicas();
    for node in cluster.nodes() {
        node.kill9();
    }
    let lazily = config(&cluster).connect_lazily(true);
    let brief = Client::connect(lazily.clone().store_timeout("200ms")).expect("at once");
    let client = Client::connect(lazily.store_timeout("600s")).expect("at once");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("m").lock().await }
    });
    let error = soon("not for ever", brief.mutex("n").lock()).await;
    assert!(
        matches!(error, Err(LockError::Unavailable { .. })),
        "{error:?}"
    );
    assert!(!client.is_connected() && !client.health().is_ready());
    for node in cluster.nodes() {
        node.start_again();
    }
    drop(
        soon("the cluster is there", waiting)
            .await
            .unwrap()
            .unwrap(),
    );
    becomes("all nodes are connected", async || {
        let health = client.health();
        health.is_ready() && health.connected && health.servers.len() == PRIMARIES
    })
    .await;
    soon("an answer", client.ping()).await.unwrap();
    // A node that is down does not affect the others.
    cluster.node(1).kill9();
    becomes("it shows", async || !client.is_connected()).await;
    let health = client.health();
    assert!(health.is_ready(), "{health}");
    let away = |server: &&auto_mutex::ServerHealth| !server.connected;
    assert_eq!(health.servers.iter().filter(away).count(), 1, "{health}");
    assert!(client.ping().await.is_err());
}

#[tokio::test]
async fn a_node_that_hangs_keeps_nobody_from_starting_lazily() {
    let cluster = without_replicas();
    cluster.node(2).stop();
    let lazily = config(&cluster).connect_timeout("1s").connect_lazily(true);
    // Some of the clients try the frozen node first.
    for _ in 0..4 {
        let client = Client::connect(lazily.clone().store_timeout("600s")).expect("at once");
        for node in 0..2 {
            let name = cluster.name_at("suite", "m", node);
            drop(
                soon("a node is there", client.mutex(&name).lock())
                    .await
                    .unwrap(),
            );
        }
    }
    let client = Client::connect(lazily.store_timeout("600s")).expect("at once");
    let name = cluster.name_at("suite", "m", 2);
    let waiting = tokio::spawn(async move { client.mutex(&name).lock().await.map(drop) });
    cluster.node(2).cont();
    soon("the last node is there", waiting)
        .await
        .unwrap()
        .unwrap();
}
