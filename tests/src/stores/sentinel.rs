//! Redis behind sentinels: a primary and two replicas.

use auto_mutex::Config;

use super::pool::{Lent, Pool};
use super::{TestStore, config};
use crate::redis::Redis;
use crate::sentinel::Service;

static IDLE: Pool<Service> = Pool::new(Service::start, |service| {
    service.server(0).command(&["FLUSHALL"]);
    true
});

/// A service for one test.
pub struct OnSentinel(Lent<Service>);

/// Takes an idle service, or starts a new one.
pub fn sentinel() -> OnSentinel {
    OnSentinel(IDLE.take())
}

impl TestStore for OnSentinel {
    fn server(&self) -> Option<&Redis> {
        Some(self.0.server(0))
    }

    /// The sentinels would replace a suspended server.
    fn answer(&self, _: bool) -> bool {
        false
    }

    /// No restart guard is needed, because no server restarts. With it, the first test would have to wait.
    fn config(&self) -> Config {
        config(self.0.url()).restart_guard(false)
    }
}
