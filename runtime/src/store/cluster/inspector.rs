//! [`Inspector`]: reads names from every primary of a cluster, and changes nothing.

use super::connector::Connector;
use super::slot::Slot;
use super::topology::{Topology, is_passing, survey};
use crate::config::{Address, ClusterEndpoint, Settings};
use crate::error::{SetupError, StoreError, with_sources};
use crate::name::Name;
use crate::store::redis::{self, Code};
use crate::store::snapshot::Snapshot;
use crate::store::{MemberId, NameRecord, Reply};
use crate::wire::{Limits, USUAL_SILENCE};

/// A primary, and its reader.
struct Served {
    address: Address,
    inspector: redis::Inspector,
}

/// A reader of a cluster.
pub(crate) struct Inspector {
    connector: Connector,
    topology: Topology,
    nodes: Vec<Served>,
}

impl Inspector {
    pub(in crate::store) fn new(endpoint: &ClusterEndpoint, settings: &Settings) -> Self {
        Self {
            connector: Connector::new(endpoint, settings, MemberId::random()),
            topology: Topology::default(),
            nodes: Vec::new(),
        }
    }

    /// Returns the readers of the primaries that the last [`refresh`](Self::refresh) found.
    pub(in crate::store) fn nodes(&mut self) -> impl Iterator<Item = &mut redis::Inspector> {
        self.nodes.iter_mut().map(|node| &mut node.inspector)
    }

    /// Asks the nodes which primary serves which slots, and keeps a reader for each primary.
    pub(in crate::store) async fn refresh(&mut self) -> Result<(), SetupError> {
        let known: Vec<_> = self.nodes.iter().map(|node| node.address.clone()).collect();
        let candidates = self.connector.candidates(&[], &known);
        let limits = || Limits::new(self.connector.connect_timeout, USUAL_SILENCE);
        let topology = survey(candidates, 0, limits).await?;
        let mut before = std::mem::take(&mut self.nodes);
        for address in topology.primaries() {
            if self.nodes.iter().any(|node| node.address == *address) {
                continue;
            }
            let known = before.iter().position(|node| node.address == *address);
            let inspector = match known {
                Some(index) => before.swap_remove(index).inspector,
                None => self.connector.inspector(address.clone()),
            };
            self.nodes.push(Served {
                address: address.clone(),
                inspector,
            });
        }
        self.topology = topology;
        Ok(())
    }

    pub(in crate::store) async fn inspect(
        &mut self,
        names: &[Name],
    ) -> Result<Snapshot, SetupError> {
        let mut snapshot = self.inspect_once(names).await?;
        let moved: Vec<_> = (0..names.len())
            .filter(|index| snapshot.names[*index].as_ref().is_err_and(is_unserved))
            .collect();
        if moved.is_empty() {
            return Ok(snapshot);
        }
        self.refresh().await?;
        let again: Vec<_> = moved.iter().map(|index| names[*index].clone()).collect();
        let found = self.inspect_once(&again).await?;
        for (index, state) in moved.into_iter().zip(found.names) {
            snapshot.names[index] = state;
        }
        Ok(snapshot)
    }

    /// The lock order that is kept under this name.
    pub(in crate::store) async fn order(&mut self, name: &Name) -> Result<Reply, SetupError> {
        // The slot may have moved since the last refresh.
        self.refresh().await?;
        let slot = Slot::of(name);
        let topology = &self.topology;
        let mut nodes = self.nodes.iter_mut();
        match nodes.find(|node| topology.serves(&node.address, slot)) {
            Some(node) => node.inspector.order(name).await,
            None => Err(SetupError::Engine {
                reason: "no node serves the slot of the lock order".to_owned(),
            }),
        }
    }

    async fn inspect_once(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let unserved = || {
            Err(StoreError::disconnected(
                "no node serves the slot of the name",
            ))
        };
        let mut found: Vec<Result<NameRecord, StoreError>> =
            names.iter().map(|_| unserved()).collect();
        let mut now = 0;
        for node in &mut self.nodes {
            let indices: Vec<_> = (0..names.len())
                .filter(|index| {
                    let slot = Slot::of(&names[*index]);
                    self.topology.serves(&node.address, slot)
                })
                .collect();
            if indices.is_empty() {
                continue;
            }
            let own: Vec<_> = indices.iter().map(|index| names[*index].clone()).collect();
            match node.inspector.inspect(&own).await {
                Ok(snapshot) => {
                    now = now.max(snapshot.now);
                    for (index, state) in indices.into_iter().zip(snapshot.names) {
                        found[index] = state;
                    }
                }
                // This node is unreachable, or no longer a primary. Another node may serve its slots by now, so only its
                // names fail.
                Err(error) if is_passing(&error) => {
                    let cause = with_sources(&error);
                    for index in indices {
                        found[index] = Err(StoreError::disconnected(cause.as_str()));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Snapshot { now, names: found })
    }
}

/// Whether the error means that the node does not serve the slot at present. Another node may serve it.
fn is_unserved(error: &StoreError) -> bool {
    let code = Code::of_error(error);
    error.is_disconnected() || code == Code::ClusterDown || code.is_elsewhere()
}
