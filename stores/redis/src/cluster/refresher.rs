//! [`Refresher`]: keeps the slot map current, and a connection to every node that serves slots.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use auto_mutex_net::{Backoff, Throttle};
use auto_mutex_seam::store::{
    Address, Boxed, Driver, Events, Instant, Node, NodeChange, STORE, Store as _, Trouble, clock,
    jittered, lock, not_yet, tell,
};
use auto_mutex_seam::{SetupError, StoreError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::primary::{Connector, Primary};
use super::redirector::Redirector;
use super::slot::epoch_keys;
use super::slot_map::SlotMap;
use super::store::{ClusterStore, NOWHERE};
use super::topology::{Topology, concerns_one_node, share, shuffle, slow, survey};
use crate::wire::Limits;

const CALM: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long a node may be silent. If all nodes were silent this long, the next survey allows twice the time.
const SILENCE: Duration = Duration::from_secs(1);
const LEAST: Duration = Duration::from_millis(50);
/// How long all nodes must report a lower epoch before the client takes them for a new cluster. A minority cut off by a
/// partition reports one too, but soon reports that the cluster is down.
const ANOTHER: Duration = Duration::from_secs(30);

pub(crate) struct Refresher {
    store: Arc<ClusterStore>,
    connector: Connector,
    topology: Topology,
    seen: Instant,
    behind: Option<Instant>,
    new: Vec<(Arc<Primary>, Box<dyn Driver>)>,
    surveys: JoinSet<()>,
    due: Instant,
    began: Instant,
    earliest: Instant,
    backoff: Backoff,
    warnings: Throttle,
    /// Whether the result of the survey in progress may be outdated.
    stale: bool,
}

impl Refresher {
    pub(super) fn new(store: Arc<ClusterStore>, connector: Connector) -> Self {
        let now = clock::now();
        Self {
            store,
            connector,
            topology: Topology::default(),
            seen: now,
            behind: None,
            new: Vec::new(),
            surveys: JoinSet::new(),
            due: now,
            began: now,
            earliest: now,
            backoff: Backoff::new(FIRST_PAUSE, SILENCE),
            warnings: Throttle::default(),
            stale: false,
        }
    }

    async fn connect(&mut self, limit: Duration) -> Result<(), SetupError> {
        self.seen = clock::now();
        let ends = self.seen.after(limit);
        let candidates = self.connector.candidates(&[], &[]);
        let share = share(limit, candidates.len());
        let limits = || Limits::new(share.min(clock::now().until(ends)), share);
        self.topology = survey(candidates, &self.connector.endpoint, 0, limits).await?;
        self.draw(&HashSet::new(), usize::MAX);
        let mut opening = JoinSet::new();
        for (primary, mut driver) in self.new.drain(..) {
            let limit = clock::now().until(ends);
            opening.spawn(async move {
                let result = driver.open(limit).await;
                (primary, driver, result)
            });
        }
        let mut failed = None;
        while let Some(opened) = opening.join_next().await {
            let Ok((primary, driver, result)) = opened else {
                continue;
            };
            match result {
                Ok(()) => primary.opened(),
                Err(error) if concerns_one_node(&error) => {
                    let why = error.to_string();
                    tell(move || {
                        tracing::warn!(target: STORE, error = %why, "a node of the lock store cannot be reached");
                    });
                    primary.set_up(false);
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
            self.new.push((primary, driver));
        }
        let is_any_up = self.new.iter().any(|(primary, _)| primary.is_up());
        if let Some(error) = failed.filter(|_| !is_any_up) {
            return Err(error);
        }
        self.plan();
        Ok(())
    }

    fn is_lost(&self) -> bool {
        self.store.map().primaries().is_empty()
    }

    async fn drive(mut self: Box<Self>, events: Arc<dyn Events>) {
        let mut is_lost = self.is_lost();
        let mut running = JoinSet::new();
        loop {
            for (primary, driver) in self.new.drain(..) {
                let redirector = Redirector {
                    store: self.store.clone(),
                    primary,
                    events: events.clone(),
                };
                running.spawn(driver.run(Arc::new(redirector)));
            }
            // Now every name belongs to a node, whose driver has reported its state.
            if is_lost && !self.is_lost() {
                is_lost = false;
                events.node_changed(NOWHERE, NodeChange::Gone);
            }
            if self.store.closed.load(Ordering::Acquire) {
                break;
            }
            let has_work = self.store.has_work.notified();
            let due = clock::now().until(self.due);
            if !self.surveys.is_empty() {
                has_work.await;
            } else if timeout(due, has_work).await.is_err() {
                self.begin_survey();
            }
            self.work(&*events);
            while running.try_join_next().is_some() {}
        }
        // Nodes may have been added after `close` was called.
        self.store.close();
        while running.join_next().await.is_some() {}
    }

    fn begin_survey(&mut self) {
        let (map, replicas) = (self.store.map(), &self.topology.replicas);
        let candidates = self.connector.candidates(map.primaries(), replicas);
        let limit = self.connector.options.connect_timeout;
        let silence = self.backoff.silence();
        let limits = move || Limits::new(limit, silence);
        let (endpoint, epoch) = (self.connector.endpoint.clone(), self.topology.epoch);
        let store = self.store.clone();
        self.surveys.spawn(async move {
            let result = survey(candidates, &endpoint, epoch, limits).await;
            store.schedule(|work| work.surveyed = Some(result));
        });
        self.stale = false;
        self.began = clock::now();
    }

    fn work(&mut self, events: &dyn Events) {
        let work = std::mem::take(&mut *lock(&self.store.work));
        if work.refresh {
            self.stale = !self.surveys.is_empty();
            self.due = self.due.min(self.earliest.max(clock::now()));
        }
        if work.changed || !work.connect.is_empty() {
            self.redraw(&work.connect, events);
        }
        for node in work.ask_again {
            self.ask_again(node, events);
        }
        if let Some(result) = work.surveyed {
            self.surveys = JoinSet::new();
            let now = clock::now();
            let took = self.began.until(now);
            self.backoff.failed(match result {
                _ if took < slow(SILENCE) => Trouble::Unreachable,
                Err(_) if took >= self.backoff.silence() => Trouble::Silent,
                _ => Trouble::Busy,
            });
            // A busy cluster is asked less often: the pause is at least as long as this survey.
            self.earliest = self.began.after(LEAST).max(now.after(took));
            self.surveyed(result, events);
            self.plan();
        }
    }

    fn surveyed(&mut self, result: Result<Topology, SetupError>, events: &dyn Events) {
        match result {
            Ok(topology)
                if is_newer(&topology, self.topology.epoch, &mut self.behind, self.began) =>
            {
                if topology.ranges != self.topology.ranges {
                    for primary in self.store.map().primaries() {
                        let keys = &primary.store.connector.guard.keys;
                        lock(keys).keys = epoch_keys(&topology, &primary.address);
                    }
                }
                self.topology = topology;
                self.seen = self.began;
                self.redraw(&HashSet::new(), events);
            }
            Ok(_) => self.topology.works = false,
            Err(error) => {
                self.topology.works = false;
                if self.is_lost() {
                    let error = StoreError::disconnected(self.warnings.failed(&error, false));
                    events.node_changed(NOWHERE, NodeChange::StillDisconnected(error));
                } else {
                    tell(
                        move || tracing::debug!(target: STORE, %error, "the slots of the cluster are not read"),
                    );
                }
            }
        }
    }

    fn plan(&mut self) {
        let map = self.store.map();
        let is_well = self.topology.works
            && map.is_complete()
            && map.primaries().iter().all(|primary| primary.is_well());
        let wait = if is_well && !self.stale {
            self.backoff.reset();
            jittered(CALM)
        } else {
            self.backoff.pause()
        };
        self.due = clock::now().after(wait);
    }

    fn redraw(&mut self, connect: &HashSet<Address>, events: &dyn Events) {
        let old = self.store.map();
        // In a cluster that was just found, check a single node. Thousands of clients may start together, and the
        // checks take most of the time of a new connection.
        let map = self.draw(connect, 1);
        for primary in old.primaries().iter().filter(|primary| !map.has(primary)) {
            let address = primary.address.to_string();
            tell(move || {
                tracing::info!(target: STORE, %address, "a node of the lock store no longer serves any slot");
            });
            primary.store.cut();
            events.node_changed(primary.node, NodeChange::Gone);
        }
        for node in map.taken_over(&old) {
            self.ask_again(node, events);
        }
    }

    /// Makes the map for the topology, with new nodes, and `connect` among them. In a cluster that was just found, so
    /// many of them are checked.
    fn draw(&mut self, connect: &HashSet<Address>, checked: usize) -> Arc<SlotMap> {
        let old = self.store.map();
        let mut primaries = old.primaries().to_vec();
        let is_new = self.is_lost();
        let mut serving: Vec<_> = self.topology.primaries().collect();
        shuffle(&mut serving);
        for address in serving.into_iter().chain(connect) {
            if primaries.iter().any(|primary| primary.address == *address) {
                continue;
            }
            let checks = is_new && primaries.len() < checked;
            let address = address.clone();
            let opened = self
                .connector
                .primary(address, &self.topology, is_new, checks);
            if connect.contains(&opened.0.address) {
                opened.0.want();
            }
            primaries.push(opened.0.clone());
            self.new.push(opened);
        }
        let map = Arc::new(old.next(&self.topology, self.seen, primaries));
        *lock(&self.store.map) = map.clone();
        map
    }

    /// Makes the member resend its requests for `node`, which took over slots or whose answer was lost.
    fn ask_again(&self, node: Node, events: &dyn Events) {
        let map = self.store.map();
        let primary = map.primaries().iter().find(|primary| primary.node == node);
        if let Some(primary) = primary.filter(|primary| primary.is_up()) {
            let again = primary.connects_again();
            events.node_changed(node, NodeChange::Connected { again });
        }
    }
}

impl Driver for Refresher {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(self.connect(limit))
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        if self.is_lost() {
            events.node_changed(NOWHERE, NodeChange::Disconnected(not_yet()));
        }
        Box::pin(self.drive(events))
    }
}

/// Whether `topology` should replace the one with `epoch`. If no node has reported that epoch for long, this is a new
/// cluster, whose epochs have restarted. `behind` is since when all answers have had a lower epoch.
fn is_newer(topology: &Topology, epoch: u64, behind: &mut Option<Instant>, now: Instant) -> bool {
    if topology.epoch >= epoch {
        *behind = None;
        return true;
    }
    let since = *behind.get_or_insert(now);
    let is_another = topology.works && since.after(ANOTHER) <= now;
    if is_another {
        tell(|| {
            tracing::warn!(target: STORE, "the cluster of the lock store was replaced by another one");
        });
        *behind = None;
    }
    is_another
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use auto_mutex_seam::Config;
    use auto_mutex_seam::store::{self, MemberId, RandomId};

    /// Uses tokio's paused time, which jumps to the next deadline if no node answers.
    #[tokio::test(start_paused = true)]
    async fn silent_nodes_share_the_connect_timeout() {
        let silent: Vec<_> = (0..7)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let addresses: Vec<_> = silent
            .iter()
            .map(|listener| listener.local_addr().unwrap().to_string())
            .collect();
        let url = format!("redis-cluster://{}", addresses.join(","));
        let limit = Duration::from_millis(600);
        let config = Config::new(url).unwrap().connect_timeout(limit);
        let settings = config.validate().unwrap();
        let began = tokio::time::Instant::now();
        let Err(error) = store::open(
            &*settings.engine,
            &settings.options,
            MemberId::random(),
            false,
        )
        .await
        .map(drop) else {
            panic!("nothing answers there");
        };
        assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
        let took = began.elapsed();
        assert!(took < 2 * limit, "{took:?}");
    }

    #[test]
    fn nodes_that_are_behind_are_believed_when_no_other_is_left() {
        let start = clock::now();
        let mut behind = None;
        let mut is_newer = |known, works, epoch, seconds| {
            let topology = Topology {
                epoch: known,
                works,
                ..Topology::default()
            };
            let now = start.after(Duration::from_secs(seconds));
            super::is_newer(&topology, epoch, &mut behind, now)
        };
        assert!(is_newer(7, true, 7, 0));
        assert!(!is_newer(3, true, 7, 1));
        assert!(!is_newer(3, true, 7, 30));
        // A node of the old cluster still answers.
        assert!(is_newer(8, true, 7, 31));
        assert!(!is_newer(3, true, 8, 32));
        assert!(!is_newer(3, false, 8, 70));
        assert!(is_newer(3, true, 8, 71));
        assert!(is_newer(3, true, 3, 72));
    }
}
