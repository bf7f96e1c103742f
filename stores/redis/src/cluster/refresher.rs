//! [`Refresher`]: keeps the slot map up to date, and a connection to every node that serves slots.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, Backoff, Events, Instant, Node, Store as _, Trouble, jittered, not_yet, tell,
};
use auto_mutex_core::{SetupError, StoreError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connector::Connector;
use super::epoch::epoch_keys;
use super::primary::Primary;
use super::redirector::Redirector;
use super::store::{ClusterStore, NOWHERE};
use super::topology::{Topology, shuffle, slow, survey};
use crate::wire::Limits;
use crate::{Driver, Throttle};

/// The pause between two surveys while the cluster is well.
const CALM: Duration = Duration::from_secs(60);
/// The first pause between other surveys; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long a node may be silent. If all nodes were silent for this time, the next survey allows twice the time.
const SILENCE: Duration = Duration::from_secs(1);
/// The minimum time between the start of a survey and the start of one that `Work::refresh` requests.
const LEAST: Duration = Duration::from_millis(50);
/// How long all nodes must report a lower epoch before the client takes them for a new cluster. A minority that a
/// partition has cut off may report a lower epoch too. But its nodes soon notice the partition, and report that the
/// cluster is down.
const ANOTHER: Duration = Duration::from_secs(30);

pub(crate) struct Refresher {
    store: Arc<ClusterStore>,
    pub(super) connector: Connector,
    topology: Topology,
    /// When the topology was requested.
    seen: Instant,
    /// Since when all nodes that answer report a lower epoch than the topology.
    behind: Option<Instant>,
    /// Drivers that do not run yet, and their nodes.
    new: Vec<(Arc<Primary>, Driver)>,
    /// The survey in progress.
    surveys: JoinSet<()>,
    /// When the next survey begins, and when the last one began.
    due: Instant,
    began: Instant,
    /// The earliest time for a survey that `Work::refresh` requests.
    earliest: Instant,
    backoff: Backoff,
    warnings: Throttle,
    /// The result of the survey in progress may be out of date.
    stale: bool,
}

impl Refresher {
    pub(super) fn new(store: Arc<ClusterStore>, connector: Connector) -> Self {
        let now = Instant::now();
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

    /// Begins with the `topology` that set-up has found at `seen`, and connections to its nodes.
    pub(super) fn begin(
        &mut self,
        topology: Topology,
        seen: Instant,
        new: Vec<(Arc<Primary>, Driver)>,
    ) {
        for (primary, _) in &new {
            self.store.note_guarantees(primary.store.guarantees());
        }
        let primaries = new.iter().map(|(primary, _)| primary.clone()).collect();
        let map = self.store.map().next(&topology, seen, primaries);
        self.store.set_map(Arc::new(map));
        (self.topology, self.seen, self.new) = (topology, seen, new);
        self.plan();
    }

    /// Whether no topology was found yet.
    fn is_lost(&self) -> bool {
        self.store.map().primaries().is_empty()
    }

    /// Runs until `Store::close` was called and all requests are answered. A cluster that was not found yet is reported as
    /// disconnected before this function returns.
    pub(crate) fn run(self, events: Arc<dyn Events>) -> impl Future<Output = ()> {
        let is_lost = self.is_lost();
        if is_lost {
            events.disconnected(NOWHERE, not_yet());
        }
        self.drive(events, is_lost)
    }

    async fn drive(mut self, events: Arc<dyn Events>, mut is_lost: bool) {
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
                events.gone(NOWHERE);
            }
            if self.store.is_closed() {
                break;
            }
            let has_work = self.store.has_work();
            if !self.surveys.is_empty() {
                has_work.await;
            } else if timeout(Instant::now().until(self.due), has_work)
                .await
                .is_err()
            {
                self.begin_survey();
            }
            self.work(&*events);
            while running.try_join_next().is_some() {}
        }
        // Closes the connections to nodes that were added after `close` was called.
        self.store.close();
        while running.join_next().await.is_some() {}
    }

    /// Asks the nodes for the topology.
    fn begin_survey(&mut self) {
        let (map, replicas) = (self.store.map(), &self.topology.replicas);
        let candidates = self.connector.candidates(map.primaries(), replicas);
        let limit = self.connector.connect_timeout;
        let silence = self.backoff.silence();
        let limits = move || Limits::new(limit, silence);
        let survey = survey(candidates, self.topology.epoch, limits);
        let store = self.store.clone();
        self.surveys.spawn(async move {
            let result = survey.await;
            store.schedule(|work| work.surveyed = Some(result));
        });
        self.stale = false;
        self.began = Instant::now();
    }

    fn work(&mut self, events: &dyn Events) {
        let work = self.store.take_work();
        if work.refresh {
            self.stale = !self.surveys.is_empty();
            self.due = self.due.min(self.earliest.max(Instant::now()));
        }
        if work.changed || !work.connect.is_empty() {
            self.redraw(&work.connect, events);
        }
        for node in work.ask_again {
            self.ask_again(node, events);
        }
        if let Some(result) = work.surveyed {
            self.surveys = JoinSet::new();
            let now = Instant::now();
            let took = self.began.until(now);
            self.backoff.failed(match result {
                _ if took < slow(SILENCE) => Trouble::Unreachable,
                Err(_) if took >= self.backoff.silence() => Trouble::Silent,
                _ => Trouble::Busy,
            });
            // A survey that `Work::refresh` requests begins no sooner than after a pause as long as this survey. So a
            // busy cluster is asked less often.
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
                        primary.epoch.set(epoch_keys(&topology, &primary.address));
                    }
                }
                self.topology = topology;
                self.seen = self.began;
                self.redraw(&HashSet::new(), events);
            }
            Ok(_) => self.topology.works = false,
            Err(error) => {
                self.topology.works = false;
                let is_lost = self.is_lost();
                let text = self.warnings.failed(&error, is_lost);
                if is_lost {
                    events.still_disconnected(NOWHERE, StoreError::disconnected(text));
                }
            }
        }
    }

    /// Plans the next survey.
    fn plan(&mut self) {
        let map = self.store.map();
        let is_well = self.topology.works
            && map.is_complete()
            && map.primaries().iter().all(|primary| primary.is_well());
        // The jitter keeps the members from asking all at the same time.
        let wait = if is_well && !self.stale {
            self.backoff.reset();
            jittered(CALM)
        } else {
            self.backoff.pause()
        };
        self.due = Instant::now().after(wait);
    }

    /// Makes the slot map match the topology, as far as the nodes are reachable, and connects to new nodes.
    fn redraw(&mut self, connect: &HashSet<Address>, events: &dyn Events) {
        let old = self.store.map();
        let mut primaries = old.primaries().to_vec();
        // Of a cluster that was just found, one node is checked. Thousands of clients may start together, and the checks
        // take most of the time of a new connection.
        let is_new = self.is_lost();
        let mut serving: Vec<_> = self.topology.primaries().collect();
        shuffle(&mut serving);
        for address in serving.into_iter().chain(connect) {
            if primaries.iter().any(|primary| primary.address == *address) {
                continue;
            }
            let (primary, driver) = self.connector.primary(
                address.clone(),
                &self.topology,
                is_new,
                is_new && primaries.is_empty(),
            );
            if connect.contains(address) {
                primary.want();
            }
            primaries.push(primary.clone());
            self.new.push((primary, driver));
        }
        let map = Arc::new(old.next(&self.topology, self.seen, primaries));
        self.store.set_map(map.clone());
        for primary in old.primaries().iter().filter(|primary| !map.has(primary)) {
            let address = primary.address.to_string();
            tell(move || {
                tracing::info!(%address, "a node of the lock store no longer serves any slot");
            });
            primary.store.cut();
            events.gone(primary.node);
        }
        for node in map.taken_over(&old) {
            self.ask_again(node, events);
        }
    }

    /// Makes the member resend its requests for `node`. This is needed if `node` took over slots from a node that does
    /// not answer, or if an answer was lost.
    fn ask_again(&self, node: Node, events: &dyn Events) {
        let map = self.store.map();
        let primary = map.primaries().iter().find(|primary| primary.node == node);
        // Without a connection, this is not needed: the member resends its requests once the node is connected.
        if let Some(primary) = primary.filter(|primary| primary.is_up()) {
            events.connected(node, primary.connects_again());
        }
    }
}

/// Whether `topology` should replace the known one, whose epoch is `epoch`. A lower epoch means that the answering node
/// is out of date. But if no node has reported `epoch` or a higher one for a long time, the cluster is a new one, whose
/// epochs started again. `behind`: since when all answers have a lower epoch.
fn is_newer(topology: &Topology, epoch: u64, behind: &mut Option<Instant>, now: Instant) -> bool {
    if topology.epoch >= epoch {
        *behind = None;
        return true;
    }
    let since = *behind.get_or_insert(now);
    let is_another = topology.works && since.after(ANOTHER) <= now;
    if is_another {
        tell(|| {
            tracing::warn!("the cluster of the lock store was replaced by another one");
        });
        *behind = None;
    }
    is_another
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_behind_are_believed_when_no_other_is_left() {
        let start = Instant::now();
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
