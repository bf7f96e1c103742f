//! [`Inspector`]: reads names from every primary of a cluster, and changes nothing.

use auto_mutex_core::store::{
    Address, Described, KeyAt, MemberId, Name, NameRecord, Options, Part, Position, Reader,
    Reading, Snapshot, with_sources,
};
use auto_mutex_core::{SetupError, StoreError};

use super::ClusterEndpoint;
use super::connector::Connector;
use super::slot::Slot;
use super::topology::{Topology, concerns_one_node, survey};
use crate::Code;
use crate::wire::{Limits, USUAL_SILENCE};

/// A primary, and its reader.
struct Served {
    address: Address,
    inspector: crate::Inspector,
}

/// A reader of a cluster.
pub(crate) struct Inspector {
    connector: Connector,
    topology: Topology,
    nodes: Vec<Served>,
}

impl Inspector {
    pub(crate) fn new(endpoint: &ClusterEndpoint, options: &Options) -> Self {
        Self {
            connector: Connector::new(endpoint, options, MemberId::random()),
            topology: Topology::default(),
            nodes: Vec::new(),
        }
    }

    /// Asks the nodes which primary serves which slots, and keeps a reader for each primary.
    async fn refresh(&mut self) -> Result<(), SetupError> {
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

    async fn states(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
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
                Err(error) if concerns_one_node(&error) => {
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

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(async {
            self.refresh().await?;
            // One node is enough to start with.
            let mut connected = Ok(());
            for node in &mut self.nodes {
                connected = node.inspector.connect().await;
                if connected.is_ok() {
                    break;
                }
            }
            connected
        })
    }

    fn names<'a>(
        &'a mut self,
        pattern: &'a str,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<Name>, SetupError>> {
        Box::pin(async {
            self.begin(position).await?;
            let count = self.nodes.len();
            let Some(node) = self.nodes.get_mut(position.server) else {
                return Ok((Vec::new(), None));
            };
            let alone = position.alone();
            let (names, next) = node.inspector.names(pattern, &alone).await?;
            Ok((names, position.after(next.map(|next| next.cursor), count)))
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.states(names))
    }

    fn keys<'a>(
        &'a mut self,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<KeyAt>, SetupError>> {
        Box::pin(async {
            self.begin(position).await?;
            let count = self.nodes.len();
            let Some(node) = self.nodes.get_mut(position.server) else {
                return Ok((Vec::new(), None));
            };
            let (keys, next) = match node.inspector.keys(&position.alone()).await {
                Err(SetupError::Unreachable { .. }) => (Vec::new(), None),
                part => part?,
            };
            Ok((keys, position.after(next.map(|next| next.cursor), count)))
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let mut all = Vec::new();
            for node in &mut self.nodes {
                all.extend(node.inspector.describe().await);
            }
            all
        })
    }
}

impl Inspector {
    /// Begins a scan. It asks for the nodes again, because some may have been added or replaced.
    async fn begin(&mut self, position: &Position) -> Result<(), SetupError> {
        match position.is_start() {
            true => self.refresh().await,
            false => Ok(()),
        }
    }
}

/// Whether the error means that the node does not serve the slot at present. Another node may serve it.
fn is_unserved(error: &StoreError) -> bool {
    let code = Code::of_error(error);
    error.is_disconnected() || code == Code::ClusterDown || code.is_elsewhere()
}
