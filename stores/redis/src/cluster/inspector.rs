//! [`Inspector`]: reads names from every primary of a cluster, and changes nothing.

use std::collections::HashMap;

use auto_mutex_net::USUAL_SILENCE;
use auto_mutex_seam::store::{
    Address, Described, MemberId, Name, Page, RandomId, Reader, Reading, Snapshot, StoreOptions,
    lock, with_sources,
};
use auto_mutex_seam::{SetupError, StoreError};

use super::primary::Connector;
use super::slot::{Slot, epoch_keys};
use super::topology::{Topology, concerns_one_node, survey};
use crate::RedisEndpoint;
use crate::error::Code;
use crate::inspector;
use crate::wire::Limits;

pub(crate) struct Inspector {
    connector: Connector,
    topology: Topology,
    nodes: Vec<(Address, inspector::Inspector)>,
}

impl Inspector {
    pub(crate) fn new(endpoint: &RedisEndpoint, options: &StoreOptions) -> Self {
        Self {
            connector: Connector::new(endpoint, options, MemberId::random()),
            topology: Topology::default(),
            nodes: Vec::new(),
        }
    }

    async fn refresh(&mut self) -> Result<(), SetupError> {
        let known: Vec<_> = self.nodes.iter().map(|node| node.0.clone()).collect();
        let candidates = self.connector.candidates(&[], &known);
        let timeout = self.connector.options.connect_timeout;
        let limits = move || Limits::new(timeout, USUAL_SILENCE);
        self.topology = survey(candidates, &self.connector.endpoint, 0, limits).await?;
        let mut before: HashMap<_, _> = self.nodes.drain(..).collect();
        let nodes = self.topology.primaries().map(|address| {
            let new = || inspector::Inspector::new(self.connector.of_node(address));
            let node = before.remove(address).unwrap_or_else(new);
            lock(&node.connector.guard.keys).keys = epoch_keys(&self.topology, address);
            (address.clone(), node)
        });
        self.nodes = nodes.collect();
        Ok(())
    }

    async fn snapshot(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let unserved = StoreError::disconnected("no node serves the slot of the name");
        let mut now = 0;
        let mut found = vec![Err(unserved.clone()); names.len()];
        let mut left: Vec<_> = (0..names.len()).collect();
        for again in [false, true] {
            if again && !left.is_empty() {
                self.refresh().await?;
            }
            for (address, node) in &mut self.nodes {
                let serves = |index: &&usize| {
                    let slot = Slot::of(&names[**index]);
                    self.topology.serves(address, slot)
                };
                let own: Vec<_> = left.iter().filter(serves).copied().collect();
                if own.is_empty() {
                    continue;
                }
                let asked: Vec<_> = own.iter().map(|index| names[*index].clone()).collect();
                let states = match node.inspect(&asked).await {
                    Ok(snapshot) => {
                        now = now.max(snapshot.now);
                        snapshot.names
                    }
                    // Another node may serve its slots by now, so the error concerns only its names.
                    Err(error) if concerns_one_node(&error) => {
                        vec![Err(StoreError::disconnected(with_sources(&error))); own.len()]
                    }
                    Err(error) => return Err(error),
                };
                for (index, state) in own.into_iter().zip(states) {
                    found[index] = state;
                }
            }
            left.retain(|index| found[*index].as_ref().is_err_and(is_unserved));
        }
        Ok(Snapshot { now, names: found })
    }
}

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(async {
            self.refresh().await?;
            let mut connected = Ok(());
            for (_, node) in &mut self.nodes {
                connected = node.connect().await;
                if connected.is_ok() {
                    break;
                }
            }
            connected
        })
    }

    fn servers(&self) -> usize {
        self.nodes.len()
    }

    fn scan<'a>(
        &'a mut self,
        server: usize,
        pattern: Option<&'a str>,
        cursor: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        Box::pin(async move {
            if server == 0 && cursor == "0" {
                self.refresh().await?;
            }
            let Some((_, node)) = self.nodes.get_mut(server) else {
                return Ok(Page::default());
            };
            match node.scan(0, pattern, cursor).await {
                Err(SetupError::Unreachable { .. }) if pattern.is_none() => Ok(Page::default()),
                page => page,
            }
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.snapshot(names))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let mut all = Vec::new();
            for (_, node) in &mut self.nodes {
                all.append(&mut node.describe().await);
            }
            all
        })
    }
}

/// Whether another node may serve the slot.
fn is_unserved(error: &StoreError) -> bool {
    let code = Code::of_error(error);
    error.is_disconnected() || code == Code::ClusterDown || code.is_elsewhere()
}
