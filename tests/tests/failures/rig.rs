//! A server, a proxy in front of it, and clients of both.

use std::time::Duration;

use auto_mutex::{Client, Config};
pub(crate) use auto_mutex_tests::events::waiters;
use auto_mutex_tests::events::{LONG, becomes};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::worker;

pub(crate) struct Rig {
    pub(crate) redis: Redis,
    pub(crate) proxy: Proxy,
}

impl Rig {
    /// Starts a server whose clients have only the rights that the library needs.
    pub(crate) fn new() -> Self {
        Self::with(Options::default().least_rights())
    }

    pub(crate) fn with(options: Options) -> Self {
        let redis = Redis::with(options);
        let proxy = Proxy::start(redis.port());
        Self { redis, proxy }
    }

    /// A client with a lease that no test outlives.
    pub(crate) fn client(&self) -> Client {
        self.leasing(LONG)
    }

    pub(crate) fn leasing(&self, lease: Duration) -> Client {
        Client::connect(config(&self.redis.url()).lease(lease)).expect("a client")
    }

    /// A client behind the proxy, with a lease that no test outlives.
    pub(crate) fn proxied(&self) -> Client {
        Client::connect(self.proxied_config().lease(LONG)).expect("a client")
    }

    pub(crate) fn proxied_config(&self) -> Config {
        config(&self.redis.url_at(self.proxy.port()))
    }

    /// Starts another process.
    pub(crate) fn worker(&self, lease: Duration) -> worker::Worker {
        self.worker_setup(lease).start()
    }

    pub(crate) fn worker_setup(&self, lease: Duration) -> worker::Setup {
        worker::Setup::new(env!("CARGO_BIN_EXE_test-worker"), self.redis.url(), lease)
    }
}

/// Waits until the waiting clients have asked for their places again. A waiter that is not back when its turn comes is
/// passed over.
pub(crate) async fn all_are_back(clients: &[Client]) {
    for client in clients {
        // A new connection touches the places first.
        becomes("it is back", async || {
            client.mutex("m").is_locked().await.is_ok()
        })
        .await;
    }
}

pub(crate) fn config(url: &str) -> Config {
    let config = Config::new(url).expect("a good URL").namespace("suite");
    config.connect_timeout("60s")
}
