//! Clients that exist before their store is up: `Config::connect_lazily`; and the async way to connect.

use std::io::Read as _;
use std::net::TcpListener;

use auto_mutex::{Client, Config, LockError, SetupError, Weakness};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{becomes, eventually, finishes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;

use tokio::sync::oneshot;

use crate::rig::config;

fn lazily(url: &str) -> Config {
    config(url).restart_guard(false).connect_lazily(true)
}

/// Checks that a service starts while `servers` are down; `url` leads to them. Kills the servers first.
async fn starts_without(url: &str, servers: &[&Redis]) {
    for server in servers {
        server.kill9();
    }
    let at_once = lazily(url).store_timeout("200ms");
    let client = Client::connect(at_once).expect("at once");
    assert!(!client.is_connected(), "{}", client.health());
    let patient = Client::connect(lazily(url).store_timeout("600s")).expect("at once");
    let waiting = tokio::spawn({
        let client = patient.clone();
        async move { client.mutex("waited-for").lock().await }
    });
    let error = soon("not for ever", client.mutex("m").lock())
        .await
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    let error = soon("not for ever", client.mutex("m").try_lock())
        .await
        .unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    let error = soon("at once", client.ping()).await.unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    becomes("its error is known", async || {
        let health = client.health();
        health.last_error.is_some_and(|last| {
            let text = last.error.to_string();
            text.contains("127.0.0.1:") && !text.contains("not connected yet")
        })
    })
    .await;
    let health = client.health();
    assert!(
        !health.connected && !health.is_ready() && health.accepts_calls,
        "{health}"
    );
    assert!(!client.is_connected());
    let unknown = |weakness: &Weakness| matches!(weakness, Weakness::Unknown { .. });
    assert!(client.guarantees().weaknesses().iter().all(unknown));
    assert!(!waiting.is_finished());
    for server in servers {
        server.start_again();
    }
    let guard = soon("the store is there", waiting).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
    soon("an answer", patient.ping()).await.unwrap();
    assert!(patient.health().is_ready(), "{}", patient.health());
    assert!(!patient.guarantees().weaknesses().iter().any(unknown));
    becomes("the other one is connected", async || {
        client.mutex("m").lock().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_service_starts_before_its_server() {
    let redis = Redis::with(Options::default().least_rights());
    starts_without(&redis.url(), &[&redis]).await;
}

#[tokio::test]
async fn a_service_starts_before_its_quorum() {
    let servers = Redis::several(3, &Options::default());
    let url = quorum_url(servers.iter().map(Redis::port));
    // Only one of three servers is up, so there is no majority.
    let away: Vec<_> = servers.iter().skip(1).collect();
    starts_without(&url, &away).await;
    let client = Client::connect(lazily(&url)).unwrap();
    becomes("connected", async || client.is_connected()).await;
    assert_eq!(client.health().servers.len(), 3);
}

#[tokio::test]
async fn what_set_up_would_refuse_is_told_until_it_is_mended() {
    let redis = Redis::with(Options::default().user("locks", "right", "~* &* +@all"));
    let port = redis.port();
    let url = format!("redis://locks:hunter2@127.0.0.1:{port}");
    let client = Client::connect(lazily(&url).store_timeout("600s")).unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("m").lock().await }
    });
    let says = async |words: &str| {
        becomes(words, async || {
            let last = client.health().last_error;
            last.is_some_and(|last| last.error.to_string().contains(words))
        })
        .await;
        assert!(!format!("{:?} {}", client.health(), client.health()).contains("hunter2"));
    };
    says("refused the credentials: WRONGPASS").await;
    redis.command(&["ACL", "SETUSER", "locks", ">hunter2", "-publish"]);
    says("the rule that it needs): NOPERM").await;
    redis.command(&["ACL", "SETUSER", "locks", "+publish"]);
    let guard = soon("mended", waiting).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[test]
fn a_bad_option_is_an_error_all_the_same() {
    let error = Client::connect(lazily("redis://127.0.0.1:1").lease("600s")).unwrap_err();
    assert!(
        matches!(error, SetupError::InvalidOption { .. }),
        "{error:?}"
    );
    // The memory store is always there.
    let client = Client::connect(Config::new("memory://").unwrap().connect_lazily(true)).unwrap();
    assert!(client.is_connected());
    drop(client.mutex("m").blocking_lock().unwrap());
}

#[test]
fn a_client_that_never_connected_ends_at_once() {
    let client = Client::connect(lazily("redis://127.0.0.1:1").store_timeout("600s")).unwrap();
    let waiting = std::thread::spawn({
        let client = client.clone();
        move || client.mutex("m").blocking_lock().map(drop)
    });
    eventually("it waits", || client.health().waiting == 1);
    finishes("shut down", move || client.blocking_shutdown());
    let ended = finishes("the wait ends", move || waiting.join().unwrap());
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
    // Even without a shutdown, a dropped client leaves no thread and no connection attempts.
    let redis = Redis::start();
    let proxy = Proxy::start(redis.port());
    proxy.refuse();
    drop(Client::connect(lazily(&redis.url_at(proxy.port()))).unwrap());
    proxy.heal();
    eventually("nobody is connected", || redis.clients() == 0);
}

#[tokio::test]
async fn connecting_does_not_block_the_runtime() {
    let redis = Redis::start();
    redis.stop();
    let config = config(&redis.url()).connect_timeout("600s");
    let connecting = tokio::spawn(async move { Client::connect_async(config).await });
    // If `connect_async` blocked the runtime's only thread, the test could not resume the server.
    tokio::task::yield_now().await;
    assert!(!connecting.is_finished());
    redis.cont();
    let client = soon("connected", connecting).await.unwrap().unwrap();
    drop(client.mutex("m").lock().await.unwrap());
    let error = Client::connect_async("redis://127.0.0.1:1")
        .await
        .unwrap_err();
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    assert!(chain(&error).contains("127.0.0.1:1"), "{}", chain(&error));
}

#[tokio::test]
async fn who_gives_up_connecting_leaves_nothing_behind() {
    // A server that never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = config(&format!("redis://127.0.0.1:{port}")).connect_timeout("600s");
    let connecting = tokio::spawn(async move { Client::connect_async(config).await.map(drop) });
    let (connected, is_connected) = oneshot::channel();
    let closed = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        connected.send(()).unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|read| read > 0) {}
    });
    soon("it connects", is_connected).await.unwrap();
    connecting.abort();
    // The connection is closed long before the connect timeout.
    becomes("its connection is closed", async || closed.is_finished()).await;
}

/// Connecting works without a runtime.
#[test]
fn connecting_needs_no_tokio() {
    let redis = Redis::start();
    let url = redis.url();
    let client = finishes("connected", move || {
        futures::executor::block_on(Client::connect_async(url))
    });
    drop(client.unwrap().mutex("m").blocking_lock().unwrap());
}
