//! [`Ground`]: the store that a history is about, with a proxy in front of each of its servers.

use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;

/// The servers, their proxies, and the URLs.
pub(crate) struct Ground {
    pub(crate) servers: Vec<Redis>,
    pub(crate) proxies: Vec<Proxy>,
    /// The URLs over which the workers are distributed.
    pub(crate) urls: Vec<String>,
}

impl Ground {
    /// One server that keeps its data. Every other worker connects through the proxy.
    pub(crate) fn single() -> Self {
        let mut ground = Self::of(vec![Redis::with(Options::default().survives_kills())]);
        let proxied = ground.servers[0].url_at(ground.proxies[0].port());
        ground.urls.push(proxied);
        ground
    }

    /// A quorum of five servers that keep their data. Each fault strikes one server, so a majority is left.
    pub(crate) fn quorum() -> Self {
        let mut ground = Self::of(Redis::several(5, &Options::default().survives_kills()));
        let servers = ground.servers.iter().map(Redis::port);
        let proxies = ground.proxies.iter().map(Proxy::port);
        ground.urls = vec![quorum_url(servers), quorum_url(proxies)];
        ground
    }

    /// Two quorums of three servers, with one server in common. A majority of one quorum need not overlap a majority of the
    /// other.
    pub(crate) fn two_quorums() -> Self {
        let mut ground = Self::of(Redis::several(5, &Options::default().survives_kills()));
        let ports: Vec<_> = ground.servers.iter().map(Redis::port).collect();
        let quorums = [&ports[..3], &ports[2..]];
        ground.urls = quorums
            .map(|ports| quorum_url(ports.iter().copied()))
            .into();
        ground
    }

    /// `count` separate servers, each with its own workers, so that workers of different servers share no lock.
    pub(crate) fn apart(count: usize) -> Self {
        Self::of(Redis::several(count, &Options::default()))
    }

    fn of(servers: Vec<Redis>) -> Self {
        Self {
            urls: servers.iter().map(Redis::url).collect(),
            proxies: servers.iter().map(|it| Proxy::start(it.port())).collect(),
            servers,
        }
    }
}
