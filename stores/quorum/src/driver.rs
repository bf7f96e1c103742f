//! [`Driver`]: opens the nodes, and runs the quorum on the background thread.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{
    self, Boxed, Events, Instant, LIMITS, Name, Node, STORE, Store, clock,
    quorum::{Effect, Env, Input, State, majority},
    random_bytes, tell,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

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

/// Asks the nodes, and tells the member, what the rules of the rounds say.
struct Rounds {
    state: State<Name>,
    nodes: Vec<Arc<dyn Store>>,
    /// Whether a node was sent something since the last flush.
    touched: Vec<bool>,
    events: Arc<dyn Events>,
    effects: Vec<Effect<Name>>,
    /// Answers that nodes gave at once. The last one is next.
    at_once: Vec<Input<Name>>,
}

impl Rounds {
    /// The nodes, each with whether it is connected.
    fn new(
        nodes: Vec<Arc<dyn Store>>,
        connected: impl IntoIterator<Item = bool>,
        events: Arc<dyn Events>,
    ) -> Self {
        let mut effects = Vec::new();
        let state = with_env(clock::now(), |env| State::new(connected, env, &mut effects));
        let mut rounds = Self {
            state,
            touched: vec![false; nodes.len()],
            nodes,
            events,
            effects,
            at_once: Vec::new(),
        };
        rounds.carry_out();
        rounds
    }

    fn take(&mut self, input: Input<Name>, now: Instant) {
        let mut next = Some(input);
        while let Some(input) = next {
            with_env(now, |env| self.state.on(input, env, &mut self.effects));
            self.carry_out();
            next = self.at_once.pop();
        }
    }

    fn carry_out(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Send { node, request } => {
                    self.touched[node] = true;
                    if let Some(answer) = self.nodes[node].submit(request) {
                        self.at_once.push(Input::Answered { node, answer });
                    }
                }
                Effect::Answer(answer) => self.events.answered(answer),
                Effect::Tell { name, message } => self.events.told(&name, message),
                Effect::Change(change) => self.events.node_changed(Node::ONLY, change),
                Effect::Dropped { node, releases } => tell(move || {
                    tracing::warn!(
                        target: STORE,
                        node,
                        dropped = releases,
                        "too many releases wait for this server of the quorum: the server keeps these locks until their leases end"
                    );
                }),
            }
        }
    }

    fn flush(&mut self) {
        for (node, touched) in self.nodes.iter().zip(&mut self.touched) {
            if std::mem::take(touched) {
                node.flush();
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.state.next_due()
    }

    fn is_idle(&self) -> bool {
        self.state.is_idle()
    }
}

fn with_env<T>(now: Instant, run: impl FnOnce(&mut Env<'_>) -> T) -> T {
    run(&mut Env {
        now,
        limits: &LIMITS,
        random: &mut random_bytes,
    })
}
