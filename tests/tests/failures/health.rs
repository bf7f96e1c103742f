//! A client's report of its own health, and the answers of its store.

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;

use crate::rig::{Rig, config};

#[tokio::test]
async fn an_outage_shows_and_so_does_its_end() {
    let rig = Rig::new();
    let client = rig.proxied();
    let address = format!("127.0.0.1:{}", rig.proxy.port());
    let health = client.health();
    assert!(health.is_ready() && health.connected && client.is_connected());
    assert!(health.last_error.is_none() && health.closed_for.is_none());
    assert_eq!((health.held, health.waiting), (0, 0));
    assert_eq!(health.servers[0].address, address);
    assert!(health.servers[0].connected && health.servers[0].error.is_none());
    soon("an answer", client.ping()).await.unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    assert_eq!(client.health().held, 1);

    rig.proxy.refuse();
    rig.proxy.cut();
    becomes("it shows", async || !client.is_connected()).await;
    let health = client.health();
    assert!(!health.is_ready() && !health.connected && health.accepts_calls);
    assert!(!health.servers[0].connected && health.servers[0].error.is_some());
    let error = client.ping().await.unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    guard.check().unwrap();

    rig.proxy.heal();
    becomes("it is over", async || client.is_connected()).await;
    let health = client.health();
    assert!(health.is_ready(), "{health}");
    assert!(health.last_error.is_some(), "what was is remembered");
    soon("an answer", client.ping()).await.unwrap();
    assert!(guard.unlock().await.unwrap());

    client.shutdown().await;
    let health = client.health();
    assert!(!health.accepts_calls && !health.is_ready() && !client.is_connected());
    assert!(matches!(client.ping().await, Err(LockError::ShutDown)));
}

#[tokio::test]
async fn a_renewal_without_an_answer_shows() {
    let rig = Rig::new();
    let client = Client::connect(rig.proxied_config().lease(LONG)).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    guard.refresh("600s").await.unwrap();
    let is_answered = async || client.health().oldest_renewal.is_none();
    becomes("answered", is_answered).await;
    rig.proxy.hold_replies();
    let refreshing = tokio::spawn(async move { guard.refresh("600s").await.map(|()| guard) });
    becomes("it shows", async || {
        client.health().oldest_renewal.is_some()
    })
    .await;
    rig.proxy.thaw();
    let guard = soon("answered", refreshing).await.unwrap().unwrap();
    becomes("answered", is_answered).await;
    drop(guard);
}

#[tokio::test]
async fn a_server_that_grants_nothing_yet_is_not_ready() {
    let redis = Redis::start();
    let config = config(&redis.url()).lease(LONG).restart_guard(true);
    let client = Client::connect(config).unwrap();
    becomes("it is closed", async || {
        client.health().closed_for.is_some()
    })
    .await;
    let health = client.health();
    assert!(health.connected && !health.is_ready(), "{health}");
    assert!(health.servers[0].closed_for.is_some());
    // The server answers requests that grant nothing.
    soon("an answer", client.ping()).await.unwrap();
}

#[tokio::test]
async fn a_minority_that_is_away_shows_and_does_no_harm() {
    let servers = Redis::several(3, &Options::default());
    let url = quorum_url(servers.iter().map(Redis::port));
    let client = Client::connect(config(&url).lease(LONG).restart_guard(false)).unwrap();
    let up = |client: &Client| {
        let servers = client.health().servers;
        servers.iter().filter(|server| server.connected).count()
    };
    becomes("all are connected", async || up(&client) == 3).await;
    servers[1].kill9();
    becomes("one is away", async || up(&client) == 2).await;
    let health = client.health();
    assert!(health.is_ready() && health.connected, "{health}");
    assert!(!health.servers[1].connected && health.servers[1].error.is_some());
    soon("an answer", client.ping()).await.unwrap();
    servers[2].kill9();
    becomes("most are away", async || !client.is_connected()).await;
    assert!(!client.health().is_ready());
}
