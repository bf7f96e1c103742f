//! [`Driver`]: opens the nodes, and runs the quorum on the background thread.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::quorum::{Input, majority};
use auto_mutex_core::store::{self, Boxed, Events, Store, clock};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::rounds::Rounds;
use super::store::{Listener, QuorumStore};

const GRACE: Duration = Duration::from_millis(500);
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Dropping it calls [`Store::close`], even at runtime shutdown.
pub(super) struct Driver {
    store: Arc<QuorumStore>,
    /// Each with whether it is connected.
    nodes: Vec<(Box<dyn store::Driver>, bool)>,
}

async fn open_majority(
    nodes: &mut [(Box<dyn store::Driver>, bool)],
    limit: Duration,
) -> Result<(), SetupError> {
    let majority = majority(nodes.len());
    let opening = nodes.iter_mut().map(|(driver, is_connected)| {
        let open = driver.open(limit);
        Box::pin(async { open.await.map(|()| *is_connected = true) })
    });
    let mut opening: Vec<_> = opening.collect();
    let mut next = async || {
        poll_fn(|cx| {
            for index in 0..opening.len() {
                if let Poll::Ready(opened) = opening[index].as_mut().poll(cx) {
                    drop(opening.swap_remove(index));
                    return Poll::Ready(Some(opened));
                }
            }
            match opening.is_empty() {
                true => Poll::Ready(None),
                false => Poll::Pending,
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

impl store::Driver for Driver {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(open_majority(&mut self.nodes, limit))
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        let connected = self.nodes.iter().map(|node| node.1);
        let rounds = Rounds::new(self.store.nodes.clone(), connected, events.clone());
        Box::pin(self.drive(rounds, events))
    }
}

impl Driver {
    pub(super) fn new(store: Arc<QuorumStore>, nodes: Vec<Box<dyn store::Driver>>) -> Self {
        let nodes = nodes.into_iter().map(|driver| (driver, false)).collect();
        Self { store, nodes }
    }

    async fn drive(mut self: Box<Self>, mut rounds: Rounds, events: Arc<dyn Events>) {
        let mut running = JoinSet::new();
        for (node, (driver, _)) in self.nodes.drain(..).enumerate() {
            let (store, events) = (self.store.clone(), events.clone());
            let listener = Listener {
                node,
                store,
                events,
            };
            running.spawn(driver.run(Arc::new(listener)));
        }
        loop {
            let (inputs, open) = self.store.take();
            let idle = inputs.is_empty();
            let now = clock::now();
            for input in inputs {
                rounds.take(input, now);
            }
            rounds.take(Input::Due, now);
            if !open {
                rounds.take(Input::Close, now);
            }
            rounds.flush();
            if !open && rounds.is_idle() {
                break;
            }
            if !idle {
                // New requests go first: the member may have sent some when it received the events.
                continue;
            }
            match rounds.next_due() {
                Some(next) => {
                    let wait = clock::now().until(next);
                    drop(timeout(wait, self.store.changed.notified()).await);
                }
                None => self.store.changed.notified().await,
            }
        }
        self.store.nodes.iter().for_each(|node| node.close());
        let ended = async { while running.join_next().await.is_some() {} };
        drop(timeout(LAST_WORDS, ended).await);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.store.close();
    }
}
