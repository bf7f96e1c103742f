//! [`Driver`]: opens the nodes, and runs the quorum on the engine's thread.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Boxed, Engine, Events, Instant, Opening, Store, engine};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::machine::Quorum;
use super::nodes::Nodes;
use super::store::{Listener, QuorumStore};
use super::votes::majority;

/// How long the driver waits for the other nodes once a majority is connected.
const GRACE: Duration = Duration::from_millis(500);
/// How long slow nodes have to answer the last requests.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs the nodes and their quorum. Its drop calls [`Store::close`], also when the runtime ends.
pub(super) struct Driver {
    store: Arc<QuorumStore>,
    nodes: Vec<NodeDriver>,
}

struct NodeDriver {
    store: Arc<dyn Store>,
    driver: Box<dyn engine::Driver>,
    is_connected: bool,
}

/// Makes the stores of the nodes, without connections.
pub(super) fn unconnected(
    nodes: &[Arc<dyn Engine>],
    opening: &Opening<'_>,
) -> (Arc<QuorumStore>, Driver) {
    let opening = Opening {
        is_voter: true,
        ..*opening
    };
    let unconnected = |node: &Arc<dyn Engine>| {
        let (store, driver) = node.unconnected(&opening);
        NodeDriver {
            store,
            driver,
            is_connected: false,
        }
    };
    let nodes: Vec<_> = nodes.iter().map(unconnected).collect();
    let stores = nodes.iter().map(|node| node.store.clone()).collect();
    let store = Arc::new(QuorumStore::new(stores));
    (store.clone(), Driver { store, nodes })
}

/// Opens a majority of the nodes within `limit`, and other nodes that connect soon after.
async fn open_majority(nodes: &mut [NodeDriver], limit: Duration) -> Result<(), SetupError> {
    let majority = majority(nodes.len());
    let mut opening: Vec<_> = nodes
        .iter_mut()
        .map(|node| {
            let is_connected = &mut node.is_connected;
            let open = node.driver.open(limit);
            Some(Box::pin(async {
                open.await.map(|()| *is_connected = true)
            }))
        })
        .collect();
    let mut next = async || {
        poll_fn(|cx| {
            let mut left = false;
            for slot in &mut opening {
                let Some(open) = slot else { continue };
                if let Poll::Ready(opened) = open.as_mut().poll(cx) {
                    *slot = None;
                    return Poll::Ready(Some(opened));
                }
                left = true;
            }
            match left {
                true => Poll::Pending,
                false => Poll::Ready(None),
            }
        })
        .await
    };
    let (mut connected, mut unreachable) = (0, None);
    loop {
        let opened = match connected >= majority {
            true => timeout(GRACE, next()).await.unwrap_or(None),
            false => next().await,
        };
        match opened {
            Some(Ok(())) => connected += 1,
            Some(Err(error @ SetupError::Unreachable { .. })) => unreachable = Some(error),
            Some(Err(error)) => return Err(error),
            None => break,
        }
    }
    match unreachable {
        Some(error) if connected < majority => Err(error),
        _ => Ok(()),
    }
}

impl engine::Driver for Driver {
    /// A majority must connect within `limit`; the others may connect later.
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(open_majority(&mut self.nodes, limit))
    }

    fn run(mut self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        let stores = self.nodes.iter();
        let stores = stores.map(|node| (node.store.clone(), node.is_connected));
        let quorum = Quorum::new(Nodes::new(stores.collect()), events);
        let nodes = std::mem::take(&mut self.nodes);
        let drivers = nodes.into_iter().map(|node| node.driver).collect();
        Box::pin(self.drive(quorum, drivers))
    }
}

impl Driver {
    async fn drive(self, mut quorum: Quorum, drivers: Vec<Box<dyn engine::Driver>>) {
        let mut running = JoinSet::new();
        for (node, driver) in drivers.into_iter().enumerate() {
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
