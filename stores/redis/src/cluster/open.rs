//! [`open`]: the first survey of a cluster, and the first connections to it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Engine as _, Instant, MemberId, Options, tell};
use tokio::task::JoinSet;

use super::ClusterEndpoint;
use super::connector::Connector;
use super::primary::Primary;
use super::refresher::Refresher;
use super::store::ClusterStore;
use super::topology::{Topology, concerns_one_node, share, survey};
use crate::Driver;
use crate::wire::Limits;

/// Makes the store of a cluster of which no node is known yet.
pub(super) fn unconnected(
    endpoint: &ClusterEndpoint,
    options: &Options,
    member: MemberId,
) -> (Arc<ClusterStore>, Refresher) {
    let connector = Connector::new(endpoint, options, member);
    let store = Arc::new(ClusterStore::new(endpoint.servers()));
    (store.clone(), Refresher::new(store, connector))
}

/// Finds the nodes that serve slots, connects to them and checks them, within `limit`. If only some nodes are reachable,
/// the refresher connects to the others later.
pub(super) async fn open(refresher: &mut Refresher, limit: Duration) -> Result<(), SetupError> {
    let seen = Instant::now();
    let ends = seen.after(limit);
    let candidates = refresher.connector.candidates(&[], &[]);
    let share = share(limit, candidates.len());
    let limits = || Limits::new(share.min(Instant::now().until(ends)), share);
    let topology = survey(candidates, 0, limits).await?;
    let drivers = connect(&mut refresher.connector, &topology, ends).await?;
    refresher.begin(topology, seen, drivers);
    Ok(())
}

/// Connects to the primaries. Fails if no primary can be reached, or if a primary cannot serve locks.
async fn connect(
    connector: &mut Connector,
    topology: &Topology,
    ends: Instant,
) -> Result<Vec<(Arc<Primary>, Driver)>, SetupError> {
    let (mut opening, mut drivers) = (JoinSet::new(), Vec::new());
    let addresses: HashSet<_> = topology.primaries().collect();
    for address in addresses {
        let (primary, driver) = connector.primary(address.clone(), topology, true, true);
        let limit = Instant::now().until(ends);
        opening.spawn(first(primary, driver, limit));
    }
    let mut failed = None;
    while let Some(opened) = opening.join_next().await {
        let Ok((primary, driver, result)) = opened else {
            continue;
        };
        match result {
            Ok(()) => primary.opened(),
            Err(error) if concerns_one_node(&error) => {
                let why = error.to_string();
                tell(move || {
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

async fn first(
    primary: Arc<Primary>,
    mut driver: Driver,
    limit: Duration,
) -> (Arc<Primary>, Driver, Result<(), SetupError>) {
    let result = driver.open(limit).await;
    (primary, driver, result)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use auto_mutex_core::Config;
    use auto_mutex_core::store;

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
        let began = tokio::time::Instant::now();
        let Err(error) = store::open(
            &*settings.engine,
            &settings.options(),
            MemberId::random(),
            false,
        )
        .await
        .map(drop) else {
            panic!("nothing answers there");
        };
        assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
        let took = began.elapsed();
        assert!(took < 2 * limit, "{took:?}");
    }
}
