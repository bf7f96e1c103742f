//! Nodes that clients can reach only through a proxy.

use auto_mutex::Client;
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::socks::{self, Socks};

use crate::rig::config;

#[tokio::test]
async fn every_node_is_reached_through_the_proxy() {
    let cluster = Cluster::with(Shape::default().without_replicas());
    let socks = Socks::new();
    let proxy = socks.port();
    let config = config(&cluster).store_timeout("60s");
    let config = config.dialer(move |host, port| socks::connect(proxy, host, port));
    let client = Client::connect(config).unwrap();
    let names: Vec<_> = (0..PRIMARIES)
        .map(|node| cluster.name_at("suite", "m", node))
        .collect();
    let mut guards = Vec::new();
    for name in &names {
        guards.push(soon("granted", client.mutex(name).lock()).await.unwrap());
    }
    for _ in 0..2 {
        socks.cut();
        for name in &names {
            let other = client.mutex(format!("{name}-other"));
            let guard = soon("granted", other.lock()).await.unwrap();
            assert!(soon("released", guard.unlock()).await.unwrap());
        }
        for guard in &guards {
            guard.check().unwrap();
            soon("it is held", guard.refresh(auto_mutex_tests::events::LONG))
                .await
                .unwrap();
        }
    }
    for node in 0..PRIMARIES {
        assert!(socks.carries_all(cluster.node(node)), "node {node}");
    }
    for guard in guards {
        assert!(soon("released", guard.unlock()).await.unwrap());
    }
}
