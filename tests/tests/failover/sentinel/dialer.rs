//! Sentinels and servers that clients can reach only through a proxy.

use auto_mutex::Client;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::sentinel::{NAME, Service};
use auto_mutex_tests::socks::{self, Socks};

use super::finding::members;
use crate::rig::config;

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_and_servers_are_reached_through_the_proxy() {
    let _watch = real_time();
    let (service, socks) = (Service::start(), Socks::new());
    let proxy = socks.port();
    let hosts: Vec<_> = service
        .sentinels()
        .iter()
        .map(|sentinel| format!("sentinel.test:{}", sentinel.port()))
        .collect();
    let url = format!("redis-sentinel://{}/{NAME}", hosts.join(","));
    let config = config(&url).restart_guard(false).store_timeout("60s");
    let config = config.dialer(move |host, port| socks::connect(proxy, host, port));
    let client = Client::connect(config).unwrap();
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
    let carried = |server: &Redis| members(server) == 1 && socks.carries_all(server);
    assert!(carried(service.server(0)));
    let asked = socks.asked();
    assert!(
        hosts.iter().any(|sentinel| asked.contains(sentinel)),
        "{asked:?}"
    );
    let primary = service.fail_over();
    becomes("the new primary is used", async || {
        carried(service.server(primary))
    })
    .await;
    let guard = soon("granted again", client.mutex("m").lock())
        .await
        .unwrap();
    assert!(guard.unlock().await.unwrap());
}
