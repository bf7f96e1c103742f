//! Redis Cluster: three primaries and three replicas.

use auto_mutex::Config;

use super::pool::{Lent, Pool};
use super::{TestStore, config};
use crate::cluster::{Cluster, Shape};
use crate::redis::Options;

static IDLE: Pool<Cluster> = Pool::new(start, |cluster| {
    cluster.flush();
    true
});

/// A cluster for one test.
pub struct OnCluster(Lent<Cluster>);

/// A cluster whose user has only the rights that the library needs.
fn start() -> Cluster {
    let options = Options::default().least_rights_of("redis-cluster");
    Cluster::with(Shape::default().options(options))
}

/// Takes an idle cluster, or starts a new one.
pub fn cluster() -> OnCluster {
    OnCluster(IDLE.take())
}

impl TestStore for OnCluster {
    /// No restart guard is needed: the nodes are new, and no client had a lock before.
    fn config(&self) -> Config {
        config(self.0.url()).restart_guard(false)
    }
}
