//! Redis Cluster: three primaries and three replicas.

use auto_mutex::Config;

use super::pool::{Lent, Pool, Reusable};
use super::{TestStore, config};
use crate::cluster::{Cluster, Shape};
use crate::redis::Options;

static IDLE: Pool<Cluster> = Pool::new();

/// A cluster that a test has for itself.
pub struct OnCluster(Lent<Cluster>);

impl OnCluster {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        Self(IDLE.take())
    }
}

impl Reusable for Cluster {
    /// The user may do what the library needs and no more.
    fn start() -> Self {
        let options = Options::default().least_rights_of("redis-cluster");
        Cluster::with(Shape::default().options(options))
    }

    fn empty(&self) -> bool {
        self.flush();
        true
    }
}

impl TestStore for OnCluster {
    fn url(&self) -> String {
        self.0.url()
    }

    /// The nodes were started a moment ago, and nobody had a lock before.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
