//! The store of a herd: its servers, how it fails, and the statistics of its servers.

use std::time::Duration;

use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::sentinel::Service;

use crate::Failure;
use crate::clock;
use crate::measure::cpu;
use crate::run::pin;

/// The default of Redis. With a shorter timeout, nodes could wrongly be seen as failed: they share their processors
/// with the clients, and so answer each other slowly.
const NODE_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Server,
    Sentinel,
    Cluster,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Server, Self::Sentinel, Self::Cluster];

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Server => "one server, started again",
            Self::Sentinel => "Sentinel: a primary, replaced by a replica",
            Self::Cluster => "Cluster: one of three, started again",
        }
    }
}

pub(super) enum Place {
    /// One server that keeps its data on disk.
    Server(Box<Redis>),
    Sentinel(Service),
    Cluster(Cluster),
}

/// Sums over the running servers, without sentinels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) received: u64,
    pub(super) connections: u64,
    /// Processor seconds.
    pub(super) cpu: f64,
    /// The bytes in use.
    pub(super) memory: u64,
}

impl Place {
    pub(super) fn open(kind: Kind) -> Result<Self, Failure> {
        Ok(match kind {
            Kind::Server => {
                let redis = Redis::with(Options::default().persistent());
                pin::server(redis.pid())?;
                Self::Server(Box::new(redis))
            }
            Kind::Sentinel => {
                let service = Service::start();
                service.watch_closely();
                Self::Sentinel(service)
            }
            Kind::Cluster => {
                let cluster = Cluster::with(
                    Shape::default()
                        .without_replicas()
                        .node_timeout(NODE_TIMEOUT),
                );
                cluster.works();
                Self::Cluster(cluster)
            }
        })
    }

    pub(super) fn url(&self) -> String {
        match self {
            Self::Server(redis) => redis.url(),
            Self::Sentinel(service) => service.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// Kills a primary. With sentinels, a replica takes over by itself; otherwise the primary is started again. Returns
    /// the time from which the recovery of the clients is measured: with sentinels after the kill, otherwise after the
    /// restart.
    pub(super) fn strike(&mut self) -> Result<u64, Failure> {
        match self {
            Self::Server(redis) => {
                redis.restart();
                pin::server(redis.pid())?;
            }
            Self::Sentinel(service) => {
                let primary = service.primary().ok_or("the service has no primary")?;
                service.server(primary).kill9();
            }
            Self::Cluster(cluster) => cluster.node(0).restart(),
        }
        Ok(clock::now())
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.running().map(Redis::pid).collect()
    }

    pub(super) fn figures(&self) -> Figures {
        self.running()
            .fold(Figures::default(), |sum, redis| Figures {
                received: sum.received + number(redis, "total_net_input_bytes"),
                connections: sum.connections + number(redis, "total_connections_received"),
                cpu: sum.cpu + cpu::of(redis.pid()),
                memory: sum.memory + number(redis, "used_memory"),
            })
    }

    fn running(&self) -> impl Iterator<Item = &Redis> {
        let servers = match self {
            Self::Server(redis) => std::slice::from_ref(&**redis),
            Self::Sentinel(service) => service.servers(),
            Self::Cluster(cluster) => cluster.nodes(),
        };
        servers.iter().filter(|redis| redis.is_running())
    }
}

fn number(redis: &Redis, field: &str) -> u64 {
    redis.info(field).parse().unwrap_or(0)
}
