//! [`Ground`]: the store that a history is about, with a proxy in front of each of its servers.

use auto_mutex_tests::postgres::{Down, Postgres, url_at};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::stores::quorum_url;

pub(crate) enum Server {
    Redis(Redis),
    Postgres(Postgres),
}

impl Server {
    fn port(&self) -> u16 {
        match self {
            Self::Redis(redis) => redis.port(),
            Self::Postgres(postgres) => postgres.port(),
        }
    }

    fn url_at(&self, port: u16) -> String {
        match self {
            Self::Redis(redis) => redis.url_at(port),
            Self::Postgres(_) => url_at(&[port]),
        }
    }

    /// Restarts the server, in one of the ways in which it may end.
    pub(crate) fn restart(&self, seed: &mut Seed) -> &'static str {
        match self {
            Self::Redis(redis) => {
                redis.restart();
                "a restart"
            }
            Self::Postgres(postgres) => match seed.below(4) {
                0 => {
                    postgres.restart(Down::Fast);
                    "a fast restart"
                }
                1 => {
                    postgres.restart(Down::Killed);
                    "a restart after kill -9"
                }
                2 => {
                    postgres.kill_backend(seed.below(100));
                    "kill -9 of a backend"
                }
                _ => {
                    postgres.terminate_clients();
                    "pg_terminate_backend"
                }
            },
        }
    }
}

/// The servers, their proxies, and the URLs.
pub(crate) struct Ground {
    pub(crate) servers: Vec<Server>,
    pub(crate) proxies: Vec<Proxy>,
    /// The URLs over which the workers are distributed.
    pub(crate) urls: Vec<String>,
}

impl Ground {
    /// One server that keeps its data. Every other worker connects through the proxy.
    pub(crate) fn single() -> Self {
        let redis = Redis::with(Options::default().survives_kills());
        Self::partly_proxied(Server::Redis(redis))
    }

    /// One PostgreSQL, whose locks a crash empties. Every other worker connects through the proxy.
    pub(crate) fn postgres() -> Self {
        let postgres = Postgres::start().expect("PostgreSQL");
        Self::partly_proxied(Server::Postgres(postgres))
    }

    fn partly_proxied(server: Server) -> Self {
        let mut ground = Self::of(vec![server]);
        let proxied = ground.servers[0].url_at(ground.proxies[0].port());
        ground.urls.push(proxied);
        ground
    }

    /// A quorum of five servers that keep their data. Each fault strikes one server, so a majority is left.
    pub(crate) fn quorum() -> Self {
        let mut ground = Self::of_redis(5, &Options::default().survives_kills());
        let servers = ground.servers.iter().map(Server::port);
        let proxies = ground.proxies.iter().map(Proxy::port);
        ground.urls = vec![quorum_url(servers), quorum_url(proxies)];
        ground
    }

    /// `count` separate servers, each with its own workers, so that workers of different servers share no lock.
    pub(crate) fn apart(count: usize) -> Self {
        Self::of_redis(count, &Options::default())
    }

    fn of_redis(count: usize, options: &Options) -> Self {
        let servers = Redis::several(count, options).into_iter();
        Self::of(servers.map(Server::Redis).collect())
    }

    fn of(servers: Vec<Server>) -> Self {
        Self {
            urls: servers.iter().map(|it| it.url_at(it.port())).collect(),
            proxies: servers.iter().map(|it| Proxy::start(it.port())).collect(),
            servers,
        }
    }
}
