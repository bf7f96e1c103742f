//! Redis Cluster: three primaries and three replicas.

use std::sync::{Mutex, PoisonError};

use auto_mutex::Config;

use super::{TestStore, config};
use crate::cluster::{Cluster, Shape};
use crate::redis::Options;

/// Clusters that no test uses at the moment: to make one takes seconds, to empty one milliseconds.
static IDLE: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());

/// A cluster that a test has for itself.
pub struct OnCluster(Option<Cluster>);

impl OnCluster {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(Some(idle.unwrap_or_else(Self::start)))
    }
}

impl OnCluster {
    /// The user may do what the library needs and no more.
    fn start() -> Cluster {
        let options = Options::default().least_rights_of("redis-cluster");
        Cluster::with(Shape::default().options(options))
    }
}

impl Drop for OnCluster {
    fn drop(&mut self) {
        // After a failure somebody may still be at it.
        if let Some(cluster) = self.0.take().filter(|_| !std::thread::panicking()) {
            cluster.flush();
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(cluster);
        }
    }
}

impl TestStore for OnCluster {
    fn url(&self) -> String {
        self.0.as_ref().map(Cluster::url).unwrap_or_default()
    }

    /// The nodes were started a moment ago, and nobody had a lock before.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
