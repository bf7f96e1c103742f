//! Redis, standalone, over TCP and over TLS.

use auto_mutex::Config;

use super::{TestStore, config};
use crate::authority::Authority;
use crate::redis::{Options, Redis};

/// A redis-server of the test's own.
pub struct OnRedis(Redis);

/// The same, where every release goes to the store: nothing is handed on inside a process.
pub struct WithoutHandover(Redis);

impl WithoutHandover {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(Redis::start())
    }
}

impl TestStore for WithoutHandover {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }

    fn config(&self) -> Config {
        config(self.url()).local_handover(0, 0)
    }
}

impl OnRedis {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(Redis::start())
    }
}

impl TestStore for OnRedis {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }
}

/// A redis-server that is talked to over TLS.
pub struct OverTls {
    redis: Redis,
    // The certificate's file is read again by whoever reconnects.
    _authority: Authority,
}

impl OverTls {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        let authority = Authority::new();
        let options = Options::default().tls(&authority, authority.issue());
        Self {
            redis: Redis::with(options),
            _authority: authority,
        }
    }
}

impl TestStore for OverTls {
    fn url(&self) -> String {
        self.redis.tls_url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.redis)
    }
}

/// A redis-server whose user may do what `acl_rule` says, and no more.
pub struct UnderTheRule(Redis);

impl UnderTheRule {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(Redis::with(Options::default().least_rights()))
    }
}

impl TestStore for UnderTheRule {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }
}
