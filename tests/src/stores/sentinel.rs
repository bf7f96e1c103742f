//! Redis behind sentinels: a primary and two replicas.

use auto_mutex::Config;

use super::pool::{Lent, Pool, Reusable};
use super::{TestStore, config};
use crate::redis::Redis;
use crate::sentinel::Service;

static IDLE: Pool<Service> = Pool::new();

/// A service for one test.
pub struct OnSentinel(Lent<Service>);

impl OnSentinel {
    /// Takes an idle service, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        Self(IDLE.take())
    }
}

impl Reusable for Service {
    fn start() -> Self {
        Service::start()
    }

    fn empty(&self) -> bool {
        self.server(0).command(&["FLUSHALL"]);
        true
    }
}

impl TestStore for OnSentinel {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(self.0.server(0))
    }

    /// The sentinels would replace a suspended server.
    fn answer(&self, _: bool) -> bool {
        false
    }

    /// No restart guard is needed, because no server restarts. With it, the first test would have to wait.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
