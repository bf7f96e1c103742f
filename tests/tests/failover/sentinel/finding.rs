//! Clients find the primary through any sentinel that is up.

use auto_mutex::Client;
use auto_mutex_tests::events::{becomes, eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::sentinel::Service;

use crate::rig::config;

/// A client without the restart guard, because the service has just been started; its calls outlast a failover.
pub(super) fn client(url: &str) -> Client {
    Client::connect(config(url).restart_guard(false).store_timeout("60s")).expect("a client")
}

/// Returns the number of connections of the library to a server.
pub(super) fn members(redis: &Redis) -> usize {
    redis
        .try_command(&["PUBSUB", "CHANNELS", "auto_mutex:member:*"])
        .map_or(0, |channels| channels.list().len())
}

#[tokio::test]
async fn one_sentinel_that_lives_is_enough() {
    let service = Service::start();
    service.sentinel(0).kill9();
    service.sentinel(1).stop();
    let client = client(&service.url());
    drop(soon("granted", client.mutex("m").lock()).await.unwrap());
    assert_eq!(members(service.server(0)), 1);
    service.sentinel(1).cont();
}

#[tokio::test]
async fn sentinels_that_the_url_does_not_name_are_learned() {
    let service = Service::start();
    let url = service.url_of(&[service.sentinel(2).port()]);
    let client = client(&url);
    service.sentinel(2).kill9();
    service.server(0).kill_clients();
    becomes("it is back", async || {
        client.mutex("m").is_locked().await.is_ok()
    })
    .await;
    // The client also subscribes at a sentinel that is up.
    let listened = |index: usize| {
        let clients = service.sentinel(index).command(&["CLIENT", "LIST"]);
        clients
            .text()
            .lines()
            .any(|line| line.contains("sub=1 ") && !line.contains("name=sentinel"))
    };
    eventually("a living sentinel is listened to", || {
        listened(0) || listened(1)
    });
}

#[tokio::test]
async fn a_sentinel_that_slept_through_a_failover_misleads_nobody() {
    let _watch = real_time();
    let service = Service::start();
    service.sentinel(0).stop();
    let former = service.wait_for_primary();
    service.begin_failover_by(1);
    let primary = service.wait_until_replaced(former);
    service.sentinel(0).cont();
    // This sentinel alone may still name the old primary, which is a replica by now.
    let misled = client(&service.url_of(&[service.sentinel(0).port()]));
    let client = client(&service.url());
    for client in [&misled, &client] {
        assert!(!client.mutex("m").is_locked().await.unwrap());
    }
    becomes("both are there", async || {
        members(service.server(primary)) == 2
    })
    .await;
}

#[tokio::test]
async fn a_service_starts_before_its_sentinels() {
    let service = Service::start();
    for sentinel in service.sentinels() {
        sentinel.kill9();
    }
    let lazily = config(&service.url())
        .restart_guard(false)
        .connect_lazily(true);
    let client = Client::connect(lazily.store_timeout("600s")).expect("at once");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("m").lock().await }
    });
    becomes("its error is known", async || {
        let last = client.health().last_error;
        last.is_some_and(|last| last.error.to_string().contains("no sentinel answers"))
    })
    .await;
    assert!(!client.is_connected() && !waiting.is_finished());
    for sentinel in service.sentinels() {
        sentinel.start_again();
    }
    drop(soon("they are there", waiting).await.unwrap().unwrap());
    let health = client.health();
    assert!(health.is_ready(), "{health}");
    let primary = format!("127.0.0.1:{}", service.port(0));
    assert_eq!(health.servers[0].address, primary);
}
