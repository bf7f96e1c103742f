//! Redis, standalone, over TCP.

use super::TestStore;
use crate::redis::Redis;

/// A redis-server of the test's own.
pub struct OnRedis(Redis);

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
