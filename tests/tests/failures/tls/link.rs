//! Connections over TLS that are cut, replaced, busy or half-open.

use std::process::Command;

use auto_mutex::{Client, Config};
use auto_mutex_tests::authority::{Authority, Identity, replace};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::config;

struct Rig {
    redis: Redis,
    proxy: Proxy,
    authority: Authority,
    identity: Identity,
}

impl Rig {
    fn new() -> Self {
        let authority = Authority::new();
        let identity = authority.issue();
        let options = Options::default().tls(&authority, identity.clone());
        let redis = Redis::with(options.line("tls-auth-clients yes"));
        Self {
            proxy: Proxy::start(redis.tls_port()),
            redis,
            authority,
            identity,
        }
    }

    /// The clients use the same certificate as the server.
    fn url_at(&self, port: u16) -> String {
        let (cert, key) = (self.identity.cert.display(), self.identity.key.display());
        format!("{}&cert={cert}&key={key}", self.redis.tls_url_at(port))
    }

    fn config(&self) -> Config {
        config(&self.url_at(self.proxy.port())).store_timeout("60s")
    }

    fn client(&self) -> Client {
        Client::connect(self.config().lease(LONG)).unwrap()
    }
}

async fn works(client: &Client) {
    let guard = soon("granted", client.mutex("works").lock()).await.unwrap();
    assert!(soon("released", guard.unlock()).await.unwrap());
}

#[tokio::test]
async fn a_half_open_connection_is_noticed() {
    let rig = Rig::new();
    let client = rig.client();
    works(&client).await;
    let connections = rig.proxy.connections();
    rig.proxy.swallow_replies();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { works(&client).await }
    });
    becomes("a new connection is tried", async || {
        rig.proxy.connections() > connections
    })
    .await;
    rig.proxy.heal();
    soon("granted over the new one", asking).await.unwrap();
}

#[tokio::test]
async fn renewed_certificates_count_from_the_next_connection_on() {
    let rig = Rig::new();
    let client = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    let next = Authority::new();
    // For a while the files belong to different authorities, and the file of the authority is missing.
    rig.identity.become_a_copy_of(&next.issue());
    std::fs::remove_file(rig.authority.ca()).unwrap();
    let connections = rig.proxy.connections();
    rig.redis.kill_clients();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { works(&client).await }
    });
    let reload = |what: &str, path: &std::path::Path| {
        let path = path.display().to_string();
        rig.redis.command(&["CONFIG", "SET", what, &path]);
    };
    replace(&rig.authority.ca(), &next.ca());
    let (cert, key) = (
        rig.identity.cert.display().to_string(),
        rig.identity.key.display().to_string(),
    );
    rig.redis.command(&[
        "CONFIG",
        "SET",
        "tls-cert-file",
        &cert,
        "tls-key-file",
        &key,
    ]);
    reload("tls-ca-cert-file", &rig.authority.ca());
    soon("back by the new certificates", asking).await.unwrap();
    assert!(rig.proxy.connections() > connections);
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
}

/// A pipe in place of the authority's file stands for a hanging mount. The locks of a quorum survive when one of its
/// servers therefore can't be connected.
#[tokio::test]
async fn a_file_that_cannot_be_read_stops_no_renewal() {
    let _watch = real_time();
    let authority = Authority::new();
    let options = Options::default().tls(&authority, authority.issue());
    let servers = Redis::several(3, &options);
    let hosts: Vec<_> = servers
        .iter()
        .map(|server| format!("localhost:{}", server.tls_port()))
        .collect();
    let ca = authority.ca();
    let url = format!("redlock://{}?tls=true&ca={}", hosts.join(","), ca.display());
    // If the servers stand still at set-up, the client connects later.
    let config = config(&url).restart_guard(false).lease(LONG);
    let config = config.connect_timeout("2s").connect_lazily(true);
    let client = Client::connect(config.store_timeout("60s")).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    let text = std::fs::read(&ca).unwrap();
    std::fs::remove_file(&ca).unwrap();
    let made = Command::new("mkfifo").arg(&ca).status();
    assert!(made.unwrap().success());
    servers[0].kill_clients();
    becomes("the attempt is late", async || {
        let health = client.health();
        let mut errors = health
            .servers
            .iter()
            .filter_map(|server| server.error.as_ref());
        errors.any(|error| error.to_string().contains("in time"))
    })
    .await;
    soon("renewed", guard.refresh(LONG)).await.unwrap();
    guard.check().unwrap();
    // The mount answers, also to the read that hangs.
    let pipe = ca.with_extension("pipe");
    std::fs::rename(&ca, &pipe).unwrap();
    std::fs::write(&ca, &text).unwrap();
    let answered = tokio::task::spawn_blocking(move || std::fs::write(pipe, text));
    soon("answered", answered).await.unwrap().unwrap();
    becomes("all are connected", async || {
        client
            .health()
            .servers
            .iter()
            .all(|server| server.connected)
    })
    .await;
    assert!(soon("released", guard.unlock()).await.unwrap());
}
