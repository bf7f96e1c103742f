//! A service: a primary and two replicas, watched by three sentinels with a quorum of two. All processes have their own
//! ports, and end with their owner, even if the owner is killed.
//!
//! The servers are numbered from 0; at first, server 0 is the primary. [`watching`](self) finds the current primary and
//! makes servers fail.

mod options;
#[cfg(test)]
mod tests;
mod watching;

pub use options::ServiceOptions;

use crate::proxy::Proxy;
use crate::redis::{Options, Redis};

/// The name of the service.
pub const NAME: &str = "the-service";
/// How long a server may be silent before the sentinels consider it down, in milliseconds. `PLACID` exceeds any delay
/// on a busy machine, so that only a test's own fault causes a failover. `VIGILANT` is for tests that cause one.
const PLACID: u32 = 60_000;
const VIGILANT: u32 = 1_000;
const SERVERS: usize = 3;
const SENTINELS: usize = 3;

/// A primary, two replicas and three sentinels.
pub struct Service {
    // The sentinels are dropped before the servers that they watch.
    sentinels: Vec<Redis>,
    servers: Vec<Redis>,
    /// One proxy in front of each server, in the same order; empty without [`ServiceOptions::proxied`].
    proxies: Vec<Proxy>,
    options: ServiceOptions,
}

impl Service {
    /// Starts a service without passwords, and waits until all its processes know each other.
    pub fn start() -> Self {
        Self::with(ServiceOptions::default())
    }

    /// Starts a service with options, and waits until all its processes know each other.
    pub fn with(options: ServiceOptions) -> Self {
        let servers: Vec<_> = (0..SERVERS)
            .map(|_| Redis::with(options.server()))
            .collect();
        let proxies: Vec<_> = match options.is_proxied() {
            true => servers.iter().map(|it| Proxy::start(it.port())).collect(),
            false => Vec::new(),
        };
        let mut service = Self {
            sentinels: Vec::new(),
            servers,
            proxies,
            options,
        };
        for (index, proxy) in service.proxies.iter().enumerate() {
            let port = proxy.port().to_string();
            service.servers[index].command(&["CONFIG", "SET", "replica-announce-port", &port]);
        }
        let primary = service.port(0).to_string();
        for replica in &service.servers[1..] {
            replica.command(&["REPLICAOF", "127.0.0.1", &primary]);
        }
        for _ in 0..SENTINELS {
            let options: Options = service.options.sentinel(service.port(0));
            service.sentinels.push(Redis::with(options));
        }
        service.wait_until_whole();
        service
    }

    /// The URL that names all sentinels, with the credentials of the options.
    pub fn url(&self) -> String {
        let ports = self.sentinels.iter();
        let ports: Vec<_> = ports.map(|it| self.options.port_of(it)).collect();
        self.url_of(&ports)
    }

    /// As [`url`](Self::url), with sentinels at these ports.
    pub fn url_of(&self, ports: &[u16]) -> String {
        let sentinels: Vec<_> = ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        self.options.url(&sentinels.join(","))
    }

    /// The server with this number.
    pub fn server(&self, index: usize) -> &Redis {
        &self.servers[index]
    }

    /// All servers.
    pub fn servers(&self) -> &[Redis] {
        &self.servers
    }

    /// The sentinel with this number.
    pub fn sentinel(&self, index: usize) -> &Redis {
        &self.sentinels[index]
    }

    /// All sentinels.
    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }

    /// The proxy in front of a server; panics without [`ServiceOptions::proxied`].
    pub fn proxy(&self, index: usize) -> &Proxy {
        &self.proxies[index]
    }

    /// The port at which sentinels, replicas and clients find a server.
    pub fn port(&self, index: usize) -> u16 {
        match self.proxies.get(index) {
            Some(proxy) => proxy.port(),
            None => self.options.port_of(&self.servers[index]),
        }
    }
}
