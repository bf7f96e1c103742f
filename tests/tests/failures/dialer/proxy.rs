//! Locks whose servers can be reached only through a SOCKS proxy.

use std::io;
use std::path::Path;
use std::sync::Arc;

use auto_mutex::{Client, Config};
use auto_mutex_tests::authority::Authority;
use auto_mutex_tests::events::{LONG, eventually, soon, waiters};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::socks::{self, Socks};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::rig::config;

/// A host name that only the proxy can resolve.
const HOST: &str = "locks.test";

fn by_proxy(config: Config, socks: &Socks) -> Config {
    let proxy = socks.port();
    config.dialer(move |host, port| socks::connect(proxy, host, port))
}

async fn works(client: &Client) {
    let guard = soon("granted", client.mutex("works").lock()).await.unwrap();
    assert!(soon("released", guard.unlock()).await.unwrap());
}

/// Checks that a holder and a waiter survive the loss of their connections, which are made again through the proxy.
async fn holds_and_waits(config: Config, socks: &Socks, redis: &Redis) {
    let config = config.lease(LONG).store_timeout("60s");
    let [holder, other] = [(); 2].map(|()| Client::connect(config.clone()).unwrap());
    let guard = soon("granted", holder.mutex("m").lock()).await.unwrap();
    let waiting = tokio::spawn({
        let mutex = other.mutex("m");
        async move { mutex.lock().await }
    });
    waiters(&holder.mutex("m"), 1).await;
    for _ in 0..3 {
        let before = socks.asked().len();
        socks.cut();
        works(&holder).await;
        works(&other).await;
        assert!(socks.asked().len() >= before + 2);
    }
    assert!(socks.carries_all(redis));
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    let guard = soon("granted to the waiter", waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(guard.unlock().await.unwrap());
    for client in [holder, other] {
        soon("shut down", client.shutdown()).await;
    }
}

#[tokio::test]
async fn a_proxy_carries_all_connections_and_looks_up_the_host() {
    let (redis, socks) = (Redis::start(), Socks::new());
    let url = format!("redis://{HOST}:{}", redis.port());
    holds_and_waits(by_proxy(config(&url), &socks), &socks, &redis).await;
    let expected = format!("{HOST}:{}", redis.port());
    assert!(socks.asked().iter().all(|asked| *asked == expected));
}

#[tokio::test]
async fn our_tls_goes_through_a_proxy() {
    let (authority, socks) = (Authority::new(), Socks::new());
    let redis = Redis::with(Options::default().tls(&authority, authority.issue()));
    let (port, ca) = (redis.tls_port(), authority.ca());
    let url = format!(
        "rediss://{HOST}:{port}?ca={}&server_name=localhost",
        ca.display()
    );
    holds_and_waits(by_proxy(config(&url), &socks), &socks, &redis).await;
}

/// The program's own TLS library, whose settings are unknown to this library.
fn own_tls(ca: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn dial_by_own_tls(
    tls: TlsConnector,
    proxy: u16,
    host: String,
    port: u16,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = socks::connect(proxy, host, port).await?;
    tls.connect(ServerName::try_from("localhost").unwrap(), stream)
        .await
}

#[tokio::test]
async fn a_program_may_bring_its_own_tls() {
    let (authority, socks) = (Authority::new(), Socks::new());
    let redis = Redis::with(Options::default().tls(&authority, authority.issue()));
    let (tls, proxy) = (own_tls(&authority.ca()), socks.port());
    let url = format!("redis://{HOST}:{}", redis.tls_port());
    let config =
        config(&url).dialer(move |host, port| dial_by_own_tls(tls.clone(), proxy, host, port));
    holds_and_waits(config, &socks, &redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quorum_and_its_second_connections_go_through_a_proxy() {
    let (servers, socks) = (Redis::several(3, &Options::default()), Socks::new());
    let hosts: Vec<_> = servers
        .iter()
        .map(|server| format!("{HOST}:{}", server.port()))
        .collect();
    let url = format!("redlock://{}", hosts.join(","));
    let config = by_proxy(config(&url), &socks).restart_guard(false);
    let client = Client::connect(config.connect_timeout("60s").store_timeout("60s")).unwrap();
    works(&client).await;
    eventually("all go through it", || {
        servers.iter().all(|server| socks.carries_all(server))
    });
}

#[tokio::test]
async fn the_connection_that_waits_for_replicas_goes_through_a_proxy() {
    let (redis, socks) = (Redis::start(), Socks::new());
    let url = format!("redis://{HOST}:{}", redis.port());
    let config = by_proxy(config(&url), &socks).replicas(1, "100ms");
    let client = Client::connect(config).unwrap();
    eventually("both connections are made", || socks.asked().len() >= 2);
    assert!(socks.carries_all(&redis));
    drop(client);
}
