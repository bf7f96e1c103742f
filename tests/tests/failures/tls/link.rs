//! Connections over TLS that are cut, replaced, busy or half-open.

use std::process::Command;
use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::authority::{Authority, Identity, replace};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::proxy::Proxy;
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
async fn a_killed_connection_is_made_again() {
    let rig = Rig::new();
    let client = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    for _ in 0..3 {
        rig.redis.kill_clients();
        works(&client).await;
        rig.proxy.cut();
        works(&client).await;
    }
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn lost_and_late_bytes_are_made_good() {
    let rig = Rig::new();
    let client = rig.client();
    for bytes in [0, 3, 10, 40] {
        rig.proxy.lose_reply_after(bytes);
        works(&client).await;
        rig.proxy.lose_request();
        works(&client).await;
    }
    rig.proxy.delay(Duration::from_millis(50));
    works(&client).await;
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
    let authority = Authority::new();
    let options = Options::default().tls(&authority, authority.issue());
    let servers = Redis::several(3, &options);
    let hosts: Vec<_> = servers
        .iter()
        .map(|server| format!("localhost:{}", server.tls_port()))
        .collect();
    let ca = authority.ca();
    let url = format!("redlock://{}?tls=true&ca={}", hosts.join(","), ca.display());
    let config = config(&url).restart_guard(false).lease("6s");
    let client = Client::connect(config).unwrap();
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
    let renewed = servers[1].calls("evalsha");
    becomes("renewed for longer than a lease", async || {
        guard.is_lost() || servers[1].calls("evalsha") > renewed + 4
    })
    .await;
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

#[tokio::test]
async fn what_is_longer_than_a_record_goes_both_ways() {
    const COUNT: u32 = 400;
    let rig = Rig::new();
    let client = rig.client();
    let semaphore = client.semaphore("x".repeat(900), COUNT);
    // All requests are sent at once, and later one reply describes all holders.
    let taking: Vec<_> = (0..COUNT)
        .map(|_| {
            let semaphore = semaphore.clone();
            tokio::spawn(async move { semaphore.acquire().await.unwrap() })
        })
        .collect();
    let mut permits = Vec::new();
    for task in taking {
        permits.push(soon("granted", task).await.unwrap());
    }
    let info = soon("an answer", semaphore.info()).await.unwrap();
    assert_eq!(info.holders.len(), COUNT as usize);
    drop(permits);
    becomes("all are free", async || rig.redis.held() == 0).await;
}

#[tokio::test]
async fn what_a_frozen_link_does_not_take_goes_when_it_thaws() {
    const COUNT: usize = 3000;
    let rig = Rig::new();
    let client = rig.client();
    works(&client).await;
    rig.proxy.freeze();
    let taking: Vec<_> = (0..COUNT)
        .map(|number| {
            let mutex = client.mutex(format!("{number}-{}", "x".repeat(400)));
            tokio::spawn(async move { mutex.lock().await.unwrap().unlock().await })
        })
        .collect();
    tokio::task::yield_now().await;
    rig.proxy.thaw();
    for task in taking {
        assert!(soon("served", task).await.unwrap().unwrap());
    }
}
