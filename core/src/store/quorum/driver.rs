//! [`Driver`]: opens the nodes, and runs the quorum on the engine's thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::machine::Quorum;
use super::nodes::Nodes;
use super::store::{Listener, QuorumStore};
use super::votes::majority;
use crate::clock::Instant;
use crate::config::{RedisEndpoint, Settings};
use crate::error::SetupError;
use crate::store::redis::{Guard, Pipeline, Route, Spec};
use crate::store::{Events, MemberId, Store, redis};

/// How long the driver waits for the other nodes once a majority is connected.
const GRACE: Duration = Duration::from_millis(500);
/// How long slow nodes have to answer the last requests.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs the nodes and their quorum. Its drop calls [`Store::close`], also when the runtime ends.
pub(crate) struct Driver {
    store: Arc<QuorumStore>,
    /// Each node, and whether it is connected already.
    nodes: Vec<(Arc<dyn Store>, bool)>,
    drivers: Vec<redis::Driver>,
}

/// A majority must connect within the connect timeout, unless the client connects lazily.
pub(crate) async fn open(
    nodes: &[RedisEndpoint],
    settings: &Settings,
    member: MemberId,
) -> Result<(Arc<QuorumStore>, Driver), SetupError> {
    let (guard, limit) = (Guard::of(settings).unreplicated(), settings.connect_timeout);
    let unconnected = |node: &RedisEndpoint| {
        let route = Route::fixed(node);
        Spec::new(route, &node.access, member, guard.clone(), limit).unconnected()
    };
    let opened = match settings.lazily {
        true => nodes.iter().map(|_| None).collect(),
        false => open_majority(nodes.iter().map(unconnected), limit).await?,
    };
    let (mut stores, mut drivers) = (Vec::new(), Vec::new());
    for (node, opened) in nodes.iter().zip(opened) {
        let connected = opened.is_some();
        let (store, driver) = opened.unwrap_or_else(|| unconnected(node));
        stores.push((store as Arc<dyn Store>, connected));
        drivers.push(driver);
    }
    let nodes = stores.iter().map(|(store, _)| store.clone()).collect();
    let store = Arc::new(QuorumStore::new(nodes));
    let driver = Driver {
        store: store.clone(),
        nodes: stores,
        drivers,
    };
    Ok((store, driver))
}

/// Opens a majority of the nodes within `limit`, and other nodes that connect soon after. `None`: the node is not open yet.
async fn open_majority(
    nodes: impl ExactSizeIterator<Item = (Arc<Pipeline>, redis::Driver)>,
    limit: Duration,
) -> Result<Vec<Option<(Arc<Pipeline>, redis::Driver)>>, SetupError> {
    let count = nodes.len();
    let mut opening = JoinSet::new();
    for (index, (store, mut driver)) in nodes.enumerate() {
        opening.spawn(async move {
            let opened = driver.open(limit).await;
            (index, opened.map(|()| (store, driver)))
        });
    }
    let mut opened: Vec<_> = (0..count).map(|_| None).collect();
    let mut unreachable = None;
    let connected = loop {
        let connected = opened.iter().flatten().count();
        let next = match connected >= majority(count) {
            true => timeout(GRACE, opening.join_next()).await.unwrap_or(None),
            false => opening.join_next().await,
        };
        match next {
            Some(Ok((index, Ok(node)))) => opened[index] = Some(node),
            Some(Ok((_, Err(error @ SetupError::Unreachable { .. })))) => unreachable = Some(error),
            Some(Ok((_, Err(error)))) => return Err(error),
            Some(Err(_)) | None => break connected,
        }
    };
    if connected < majority(count) {
        return Err(unreachable.unwrap_or_else(|| SetupError::Engine {
            reason: "the servers of the quorum were not connected to".to_owned(),
        }));
    }
    Ok(opened)
}

impl Driver {
    /// Runs until [`Store::close`] was called and all requests are answered. Reports at once if no majority is connected.
    pub(crate) fn run(mut self, events: Arc<dyn Events>) -> impl Future<Output = ()> {
        let nodes = Nodes::new(std::mem::take(&mut self.nodes));
        let quorum = Quorum::new(nodes, events);
        self.drive(quorum)
    }

    async fn drive(mut self, mut quorum: Quorum) {
        let mut running = JoinSet::new();
        for (node, driver) in std::mem::take(&mut self.drivers).into_iter().enumerate() {
            let store = self.store.clone();
            running.spawn(driver.run(Arc::new(Listener { node, store })));
        }
        loop {
            let (inputs, open) = self.store.take();
            let idle = inputs.is_empty();
            quorum.now = Instant::now();
            for input in inputs {
                quorum.take(input);
            }
            quorum.tick();
            if !open {
                quorum.close();
            }
            quorum.nodes.flush();
            if !open && quorum.is_done() {
                break;
            }
            if !idle {
                // Handles new requests first: the member may have sent some when it got the events.
                continue;
            }
            match quorum.next() {
                Some(next) => {
                    let wait = Instant::now().until(next);
                    drop(timeout(wait, self.store.changed()).await);
                }
                None => self.store.changed().await,
            }
        }
        quorum.nodes.close();
        let ended = async { while running.join_next().await.is_some() {} };
        drop(timeout(LAST_WORDS, ended).await);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.store.close();
    }
}
