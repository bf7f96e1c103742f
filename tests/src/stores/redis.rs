//! Redis, standalone, over TCP.

use auto_mutex::Config;

use super::{TestStore, config};
use crate::redis::Redis;

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
