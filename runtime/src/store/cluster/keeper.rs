//! [`Keeper`]: keeps the map, and a connection to every node that serves slots.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant as Timer, sleep_until};

use super::belief::Belief;
use super::draw::draw;
use super::epoch::epoch_keys;
use super::nodes::Nodes;
use super::pace::Pace;
use super::primary::Primary;
use super::relay::Relay;
use super::store::{ClusterStore, Signs};
use super::survey::survey;
use super::view::View;
use crate::clock::Instant;
use crate::config::Address;
use crate::error::SetupError;
use crate::store::redis::Driver;
use crate::store::{Events, Node, Store as _};
use crate::wait;

/// How long a node may be silent that is asked what it knows.
const ANSWER: Duration = Duration::from_secs(1);

/// What runs for the store.
pub(crate) struct Keeper {
    pub(super) store: Arc<ClusterStore>,
    pub(super) nodes: Nodes,
    pub(super) view: View,
    /// When that was asked for.
    pub(super) seen: Instant,
    pub(super) belief: Belief,
    /// Of the nodes that the map has from the beginning.
    pub(super) drivers: Vec<(Arc<Primary>, Driver)>,
}

type Asking = Pin<Box<dyn Future<Output = Result<View, SetupError>> + Send>>;

/// What happened.
enum Event {
    Sign,
    Time,
    Surveyed(Result<View, SetupError>),
}

impl Keeper {
    /// Runs until the store is closed and everything answered.
    pub(crate) async fn run(mut self, events: Arc<dyn Events>) {
        let mut running = JoinSet::new();
        for (primary, driver) in std::mem::take(&mut self.drivers) {
            self.start(&mut running, &events, primary, driver);
        }
        let mut pace = Pace::new(self.is_well());
        let mut asking: Option<(Instant, Asking)> = None;
        while !self.store.is_closed() {
            match self.next(&mut asking, pace.next()).await {
                Event::Sign => {
                    let signs = self.store.take_signs();
                    self.look(signs, &mut running, &events, &mut pace);
                }
                Event::Time => {
                    let candidates = self.nodes.candidates(&self.store.map(), &self.view);
                    let whole = self.nodes.connect_timeout;
                    let survey = survey(candidates, self.view.epoch, whole, ANSWER);
                    asking = Some((Instant::now(), Box::pin(survey)));
                    pace.begin();
                }
                Event::Surveyed(result) => {
                    if let Some((began, _)) = asking.take() {
                        self.surveyed(result, began, &mut running, &events);
                    }
                    pace.end(self.is_well());
                }
            }
            while running.try_join_next().is_some() {}
        }
        // Those that came after the store was closed.
        self.store.close();
        while running.join_next().await.is_some() {}
    }

    async fn next(&self, asking: &mut Option<(Instant, Asking)>, due: Option<Timer>) -> Event {
        let mut signed = pin!(self.store.signed());
        let mut time = pin!(due.map(sleep_until));
        poll_fn(|cx| {
            if signed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Event::Sign);
            }
            if let Some((_, asking)) = asking {
                return asking.as_mut().poll(cx).map(Event::Surveyed);
            }
            match time.as_mut().as_pin_mut() {
                Some(time) => time.poll(cx).map(|()| Event::Time),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn start(
        &self,
        running: &mut JoinSet<()>,
        events: &Arc<dyn Events>,
        primary: Arc<Primary>,
        driver: Driver,
    ) {
        let relay = Relay {
            store: self.store.clone(),
            primary,
            events: events.clone(),
        };
        running.spawn(driver.run(Arc::new(relay)));
    }

    /// Everything is as it should be, as far as is known.
    fn is_well(&self) -> bool {
        let map = self.store.map();
        self.view.works
            && map.is_complete()
            && map.primaries().iter().all(|primary| primary.is_well())
    }

    fn look(
        &mut self,
        signs: Signs,
        running: &mut JoinSet<()>,
        events: &Arc<dyn Events>,
        pace: &mut Pace,
    ) {
        if signs.doubted {
            pace.hurry();
        }
        if signs.changed || !signs.wanted.is_empty() {
            self.redraw(signs.wanted, running, events);
        }
        for node in signs.adrift {
            self.ask_again(node, &**events);
        }
    }

    fn surveyed(
        &mut self,
        result: Result<View, SetupError>,
        began: Instant,
        running: &mut JoinSet<()>,
        events: &Arc<dyn Events>,
    ) {
        match result {
            Ok(view) if self.belief.believes(&view, self.view.epoch, began) => {
                self.view = view;
                self.seen = began;
                for primary in self.store.map().primaries() {
                    let keys = epoch_keys(&self.view, &primary.address);
                    primary.epoch.set(keys);
                }
                self.redraw(HashSet::new(), running, events);
            }
            Ok(_) => self.view.works = false,
            Err(error) => {
                self.view.works = false;
                wait::tell(move || {
                    tracing::debug!(%error, "no node of the cluster says who serves what");
                });
            }
        }
    }

    /// Makes the map what the view says, as far as the nodes can be reached, and connects to those that are new.
    fn redraw(
        &mut self,
        wanted: HashSet<Address>,
        running: &mut JoinSet<()>,
        events: &Arc<dyn Events>,
    ) {
        let old = self.store.map();
        let mut primaries = old.primaries().to_vec();
        let serving = self.view.ranges.iter().map(|(_, _, address)| address);
        for address in serving.chain(&wanted) {
            if !primaries.iter().any(|primary| primary.address == *address) {
                let (primary, driver) = self.nodes.primary(address.clone(), &self.view, false);
                if wanted.contains(address) {
                    primary.want();
                }
                self.start(running, events, primary.clone(), driver);
                primaries.push(primary);
            }
        }
        let turned = self.store.turned_since(self.seen);
        let drawn = draw(&old, &self.view, &turned, primaries);
        self.store.set_map(drawn.map);
        for primary in drawn.useless {
            let address = primary.address.to_string();
            wait::tell(move || {
                tracing::info!(%address, "a node of the lock store serves nothing any more");
            });
            primary.store.cut();
            events.gone(primary.node);
        }
        for node in drawn.adrift {
            self.ask_again(node, &**events);
        }
    }

    /// What lives at `node` came there from one that answers nothing, or had an answer from there.
    fn ask_again(&self, node: Node, events: &dyn Events) {
        let map = self.store.map();
        let primary = map.primaries().iter().find(|primary| primary.node == node);
        // One that is not there yet asks by itself.
        if let Some(primary) = primary.filter(|primary| primary.is_up()) {
            events.connected(node, primary.next_generation());
        }
    }
}
