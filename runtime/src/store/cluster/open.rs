//! [`Opening`]: the first survey of a cluster, and the first connections to it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::connector::Connector;
use super::primary::Primary;
use super::refresher::Refresher;
use super::slot::Slot;
use super::slot_map::SlotMap;
use super::store::ClusterStore;
use super::topology::{Topology, concerns_one_node, share, shuffle, survey};
use crate::clock::Instant;
use crate::config::{ClusterEndpoint, Settings};
use crate::error::SetupError;
use crate::name::Name;
use crate::store::MemberId;
use crate::store::redis::{Driver, probe_name};
use crate::wait;
use crate::wire::Limits;

/// The first connections to a cluster, in one or several attempts.
pub(crate) struct Opening {
    connector: Connector,
    /// A topology that was found by an attempt that then could not connect to the nodes; and when it was requested. Only
    /// the next attempt uses it. The attempt after that asks for the topology again, because a failover may be the reason
    /// why no node could be reached.
    known: Option<(Topology, Instant)>,
}

impl Opening {
    pub(crate) fn new(endpoint: &ClusterEndpoint, settings: &Settings, member: MemberId) -> Self {
        Self {
            connector: Connector::new(endpoint, settings, member),
            known: None,
        }
    }

    /// Finds the nodes that serve slots, connects to them and checks them, within `limit`. If only some nodes are
    /// reachable, the refresher connects to the others later.
    ///
    /// `one`: connects to one node only, and leaves all others to the refresher. Otherwise, thousands of clients
    /// that start together would run out of time, and would start again.
    pub(crate) async fn attempt(
        &mut self,
        limit: Duration,
        one: bool,
    ) -> Result<(Arc<ClusterStore>, Refresher), SetupError> {
        let ends = Instant::now().after(limit);
        let (topology, seen) = match self.known.take() {
            Some(known) => known,
            None => {
                let seen = Instant::now();
                let candidates = self.connector.candidates(&[], &[]);
                let share = share(limit, candidates.len());
                let limits = || Limits::new(share.min(Instant::now().until(ends)), share);
                let topology = survey(candidates, 0, limits).await?;
                self.known.insert((topology, seen)).clone()
            }
        };
        let drivers = self.connect(&topology, ends, one).await?;
        let primaries = drivers.iter().map(|(primary, _)| primary.clone()).collect();
        let map = SlotMap::new(Vec::new()).next(&topology, seen, primaries);
        let store = Arc::new(ClusterStore::new(map));
        let connector = self.connector.clone();
        let refresher = Refresher::new(store.clone(), connector, topology, seen, drivers);
        Ok((store, refresher))
    }

    /// Connects to the primaries, or to one primary if `one`. Fails if no primary can be reached, or if a primary cannot
    /// serve locks.
    async fn connect(
        &mut self,
        topology: &Topology,
        ends: Instant,
        one: bool,
    ) -> Result<Vec<(Arc<Primary>, Driver)>, SetupError> {
        let mut addresses: Vec<_> = topology.primaries().collect();
        shuffle(&mut addresses);
        let (mut opening, mut drivers) = (JoinSet::new(), Vec::new());
        let mut known = HashSet::new();
        for address in addresses {
            if !known.insert(address) {
                continue;
            }
            let (primary, driver) = self.connector.primary(address.clone(), topology, true);
            if one && !opening.is_empty() {
                drivers.push((primary, driver));
                continue;
            }
            let probe = probe(self.connector.member, |slot| topology.serves(address, slot));
            let limit = Instant::now().until(ends);
            opening.spawn(first(primary, driver, limit, probe));
        }
        let mut failed = None;
        while let Some(opened) = opening.join_next().await {
            let Ok((primary, driver, result)) = opened else {
                continue;
            };
            match result {
                Ok(()) => primary.set_up(true),
                Err(error) if concerns_one_node(&error) => {
                    let why = error.to_string();
                    wait::tell(move || {
                        tracing::warn!(error = %why, "a node of the lock store cannot be reached");
                    });
                    primary.set_up(false);
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
            drivers.push((primary, driver));
        }
        match failed {
            Some(error) if !drivers.iter().any(|(primary, _)| primary.is_up()) => Err(error),
            _ => Ok(drivers),
        }
    }
}

async fn first(
    primary: Arc<Primary>,
    mut driver: Driver,
    limit: Duration,
    probe: Name,
) -> (Arc<Primary>, Driver, Result<(), SetupError>) {
    let result = driver.open(limit, &probe).await;
    (primary, driver, result)
}

/// Returns a name that only this member uses, in a slot for which `is_served` is true.
fn probe(member: MemberId, is_served: impl Fn(Slot) -> bool) -> Name {
    // These are far more names than needed to hit any slot.
    let mut names = (0..1 << 20).map(|number| probe_name(member, number));
    let name = names.find(|name| is_served(Slot::of(name)));
    name.unwrap_or_else(|| probe_name(member, 0))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::config::{Config, Endpoint};

    /// Runs in tokio's paused time, which jumps to the next deadline if no node answers.
    #[tokio::test(start_paused = true)]
    async fn silent_nodes_share_the_connect_timeout() {
        let silent: Vec<_> = (0..7)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let addresses: Vec<_> = silent
            .iter()
            .map(|listener| listener.local_addr().unwrap().to_string())
            .collect();
        let url = format!("redis-cluster://{}", addresses.join(","));
        let limit = Duration::from_millis(600);
        let config = Config::new(url).unwrap().connect_timeout(limit);
        let settings = config.validate().unwrap();
        let Endpoint::Cluster(endpoint) = &settings.endpoint else {
            panic!("not a cluster: {:?}", settings.endpoint);
        };
        let mut opening = Opening::new(endpoint, &settings, MemberId::random());
        let began = tokio::time::Instant::now();
        let Err(error) = opening.attempt(limit, false).await else {
            panic!("nothing answers there");
        };
        assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
        let took = began.elapsed();
        assert!(took < 2 * limit, "{took:?}");
    }
}
