//! [`open`]: the first survey of a cluster, and the first connections to it.

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
use super::topology::{is_passing, survey};
use crate::clock::Instant;
use crate::config::{ClusterEndpoint, Settings};
use crate::error::SetupError;
use crate::name::Name;
use crate::store::MemberId;
use crate::store::redis::{Driver, probe_name};
use crate::wait;
use crate::wire::USUAL_SILENCE;

/// Finds the nodes that serve slots, connects to them and checks them, within the connect timeout. If some are
/// unreachable, it leaves them to the refresher.
pub(crate) async fn open(
    endpoint: &ClusterEndpoint,
    settings: &Settings,
    member: MemberId,
) -> Result<(Arc<ClusterStore>, Refresher), SetupError> {
    let ends = Instant::now().after(settings.connect_timeout);
    let mut connector = Connector::new(endpoint, settings, member);
    let seen = Instant::now();
    let topology = survey(
        connector.candidates(&[], &[]),
        0,
        settings.connect_timeout,
        USUAL_SILENCE,
    )
    .await?;
    let mut opening = JoinSet::new();
    let mut primaries: Vec<Arc<Primary>> = Vec::new();
    for address in topology.primaries() {
        if primaries.iter().any(|primary| primary.address == *address) {
            continue;
        }
        let (primary, driver) = connector.primary(address.clone(), &topology, true);
        primaries.push(primary.clone());
        let probe = probe(member, &topology.slots_of(address).collect());
        let limit = Instant::now().until(ends);
        opening.spawn(first(primary, driver, limit, probe));
    }
    let mut drivers = Vec::new();
    let mut failed = None;
    while let Some(opened) = opening.join_next().await {
        let Ok((primary, driver, result)) = opened else {
            continue;
        };
        match result {
            Ok(()) => primary.set_up(true),
            Err(error) if is_passing(&error) => {
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
    if let Some(error) = failed
        && !primaries.iter().any(|primary| primary.is_up())
    {
        return Err(error);
    }
    let map = SlotMap::new(Vec::new()).next(&topology, seen, primaries);
    let store = Arc::new(ClusterStore::new(map));
    let refresher = Refresher::new(store.clone(), connector, topology, seen, drivers);
    Ok((store, refresher))
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

/// A name of the member's own, in one of these slots.
fn probe(member: MemberId, slots: &HashSet<Slot>) -> Name {
    // Far more numbers than needed to hit any slot.
    let mut names = (0..1 << 20).map(|number| probe_name(member, number));
    let name = names.find(|name| slots.contains(&Slot::of(name)));
    name.unwrap_or_else(|| probe_name(member, 0))
}
