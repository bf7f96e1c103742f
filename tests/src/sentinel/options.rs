//! The configuration of a service.

use super::{NAME, PLACID};
use crate::authority::Authority;
use crate::redis::{Options, Redis};

/// Options of a [`Service`](super::Service).
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    server_password: Option<String>,
    sentinel_password: Option<String>,
    server_lines: Vec<String>,
    proxied: bool,
    /// The options that servers and sentinels share.
    base: Options,
}

impl ServiceOptions {
    /// The servers need this password.
    #[must_use]
    pub fn server_password(mut self, password: &str) -> Self {
        self.server_password = Some(password.to_owned());
        self
    }

    /// The sentinels need this password.
    #[must_use]
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinel_password = Some(password.to_owned());
        self
    }

    /// Adds a line to every server's redis.conf.
    #[must_use]
    pub fn server_line(mut self, line: &str) -> Self {
        self.server_lines.push(line.to_owned());
        self
    }

    /// A primary refuses to write unless a replica has answered within a second or two.
    #[must_use]
    pub fn needing_a_replica(self) -> Self {
        self.server_line("min-replicas-to-write 1")
    }

    /// Servers, sentinels and clients use TLS for all connections.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        let base = Options::default().tls(authority, authority.issue());
        self.base = base.line("tls-replication yes");
        self
    }

    /// Starts a proxy in front of each server: sentinels, replicas and clients all connect through it.
    #[must_use]
    pub fn proxied(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// The port at which clients connect to a server or sentinel.
    pub(super) fn port_of(&self, redis: &Redis) -> u16 {
        match self.base.has_tls() {
            true => redis.tls_port(),
            false => redis.port(),
        }
    }

    pub(super) fn is_proxied(&self) -> bool {
        self.proxied
    }

    pub(super) fn server(&self) -> Options {
        let mut options = self.base.clone().replicated();
        options = options.line("replica-announce-ip 127.0.0.1");
        if let Some(password) = &self.server_password {
            options = options.password(password);
            options = options.line(&format!("masterauth {password}"));
        }
        for line in &self.server_lines {
            options = options.line(line);
        }
        options
    }

    pub(super) fn sentinel(&self, primary: u16) -> Options {
        let mut options = self
            .base
            .clone()
            .sentinel()
            .line(&format!("sentinel monitor {NAME} 127.0.0.1 {primary} 2"))
            .line(&format!("sentinel down-after-milliseconds {NAME} {PLACID}"))
            .line(&format!("sentinel failover-timeout {NAME} 3000"))
            .line(&format!("sentinel parallel-syncs {NAME} 2"));
        if let Some(password) = &self.server_password {
            options = options.line(&format!("sentinel auth-pass {NAME} {password}"));
        }
        if let Some(password) = &self.sentinel_password {
            options = options.password(password);
            // The sentinels need this password for each other, too.
            options = options.line(&format!("sentinel sentinel-pass {password}"));
        }
        options
    }

    pub(super) fn url(&self, sentinels: &str) -> String {
        let login = match &self.server_password {
            Some(password) => format!(":{password}@"),
            None => String::new(),
        };
        let mut query = String::new();
        if let Some(password) = &self.sentinel_password {
            query += &format!("sentinel_pass={password}&");
        }
        if self.base.has_tls() {
            query += &format!("tls=true&{}", self.base.trust());
        }
        format!("redis-sentinel://{login}{sentinels}/{NAME}?{query}")
    }
}
