//! Redis Cluster: three primaries and three replicas.

use auto_mutex::Config;

use super::pool::{Lent, Pool, Reusable};
use super::{TestStore, config};
use crate::cluster::{Cluster, Shape};
use crate::redis::Options;

static IDLE: Pool<Cluster> = Pool::new();

/// A cluster for one test.
pub struct OnCluster(Lent<Cluster>);

impl OnCluster {
    /// Takes an idle cluster, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        Self(IDLE.take())
    }
}

impl Reusable for Cluster {
    /// The user has only the rights that the library needs.
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

    /// No restart guard is needed: the nodes are new, and no client had a lock before.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
