//! [`Driver`]: opens the nodes, and runs the quorum on the engine's thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::enough::majority;
use super::inbox::{Ear, Inbox};
use super::nodes::Nodes;
use super::state::{Output, Quorum};
use super::store::QuorumStore;
use crate::clock::Instant;
use crate::config::RedisEndpoint;
use crate::error::SetupError;
use crate::guarantees::Guarantees;
use crate::store::redis::{Guard, Route};
use crate::store::{Events, MemberId, Node, Store, redis};

/// How long the others are waited for when a majority is connected.
const GRACE: Duration = Duration::from_millis(500);
/// How long slow nodes have to hear the last words.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs the nodes, and what is made of them.
pub(crate) struct Driver {
    inbox: Arc<Inbox>,
    /// Each with whether it is connected already.
    stores: Vec<(Arc<dyn Store>, bool)>,
    drivers: Vec<redis::Driver>,
}

/// Opens the nodes: a majority must be there within `connect_timeout`; the others are connected to when they are.
pub(crate) async fn connect(
    nodes: &[RedisEndpoint],
    connect_timeout: Duration,
    member: MemberId,
    guard: Guard,
) -> Result<(Arc<QuorumStore>, Driver), SetupError> {
    let count = nodes.len();
    let mut opening = JoinSet::new();
    for (index, node) in nodes.iter().cloned().enumerate() {
        let guard = guard.clone();
        opening.spawn(async move {
            let opened = redis::connect(
                Route::fixed(&node),
                &node.access,
                connect_timeout,
                None,
                member,
                guard,
            )
            .await;
            (index, opened)
        });
    }
    let mut opened: Vec<_> = (0..count).map(|_| None).collect();
    let mut connected = 0;
    let mut unreachable = None;
    loop {
        let enough = connected >= majority(count);
        let next = match enough {
            true => timeout(GRACE, opening.join_next()).await.unwrap_or(None),
            false => opening.join_next().await,
        };
        let Some(Ok((index, result))) = next else {
            break;
        };
        match result {
            Ok(node) => {
                opened[index] = Some(node);
                connected += 1;
            }
            Err(error @ SetupError::Unreachable { .. }) => unreachable = Some(error),
            Err(error) => return Err(error),
        }
    }
    if connected < majority(count) {
        return Err(unreachable.unwrap_or_else(|| SetupError::Engine {
            reason: "the servers of the quorum were not connected to".to_owned(),
        }));
    }
    let inbox = Arc::new(Inbox::default());
    let (mut stores, mut drivers) = (Vec::new(), Vec::new());
    for (node, opened) in nodes.iter().zip(opened) {
        let connected = opened.is_some();
        let (store, driver) = opened
            .unwrap_or_else(|| redis::connect_later(node, member, guard.clone(), connect_timeout));
        stores.push((store as Arc<dyn Store>, connected));
        drivers.push(driver);
    }
    let store = Arc::new(QuorumStore::new(inbox.clone(), guarantees(&stores)));
    let driver = Driver {
        inbox,
        stores,
        drivers,
    };
    Ok((store, driver))
}

/// Any of the nodes may be the one that makes a second majority: the weakest counts. Those that are not there yet are not
/// waited for.
fn guarantees(stores: &[(Arc<dyn Store>, bool)]) -> Guarantees {
    let connected = stores.iter().filter(|(_, connected)| *connected);
    let found = connected
        .map(|(store, _)| store.guarantees())
        .reduce(Guarantees::and);
    Guarantees {
        fifo: false,
        ..found.unwrap_or_else(Guarantees::unknown)
    }
}

impl Driver {
    /// Runs until the store is closed and everything is answered.
    pub(crate) async fn run(self, events: Arc<dyn Events>) {
        let Self {
            inbox,
            stores,
            drivers,
        } = self;
        let _abandoned = Abandoned(&inbox);
        let mut running = JoinSet::new();
        for (index, driver) in drivers.into_iter().enumerate() {
            let ear = Ear::new(index, inbox.clone());
            running.spawn(driver.run(Arc::new(ear)));
        }
        let mut quorum = Quorum::new(Nodes::new(stores));
        loop {
            let (inputs, open) = inbox.take();
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
            while let Some(output) = quorum.outputs() {
                tell(&*events, output);
            }
            if !open && quorum.is_done() {
                break;
            }
            if !idle {
                // Those who were told may have asked for more.
                continue;
            }
            match quorum.next() {
                Some(next) => {
                    let wait = Instant::now().until(next);
                    drop(timeout(wait, inbox.changed()).await);
                }
                None => inbox.changed().await,
            }
        }
        quorum.nodes.close();
        let ended = async { while running.join_next().await.is_some() {} };
        drop(timeout(LAST_WORDS, ended).await);
    }
}

fn tell(events: &dyn Events, output: Output) {
    match output {
        Output::Answer(answer) => events.answered(answer),
        Output::Told(name, message) => events.told(&name, message),
        Output::Closed(closing) => events.closed(Node::ONLY, closing),
        Output::Connected(generation) => events.connected(Node::ONLY, generation),
        Output::Disconnected(error) => events.disconnected(Node::ONLY, error),
        Output::StillDisconnected(error) => events.still_disconnected(Node::ONLY, error),
    }
}

/// When the driver ends, and be it with its runtime, requests are refused.
struct Abandoned<'a>(&'a Inbox);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
