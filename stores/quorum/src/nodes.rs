//! [`Nodes`]: the servers of the quorum: whether they can be reached, the requests to each, and pending releases.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, Closed, Instant, LIMITS, Name, Op, Request, RequestId, Store, StoreErrorKind,
    TicketMap, clock, not_yet, tell,
};

use super::votes::{Votes, majority};

/// A number that no job has.
pub(super) const NOBODY: u64 = 0;

pub(super) const MOST_PENDING: usize = 10_000;
/// The delay before refused releases are sent again, and how many are sent together.
const RETRY: (Duration, usize) = (Duration::from_millis(200), 100);

#[derive(Debug)]
pub(super) struct PendingRelease {
    name: Name,
    park_until: Instant,
    /// A copy of an acquire, or of this release, may still arrive at any time.
    tomb: bool,
    used: u64,
    until: Instant,
    in_flight: bool,
}

pub(super) struct Node {
    store: Arc<dyn Store>,
    pub(super) down: Option<StoreError>,
    pub(super) closed: Option<Closed>,
    pub(super) pending: TicketMap<PendingRelease>,
    /// How many pending releases were dropped since the node was last reachable, because there were too many.
    pub(super) dropped: u64,
    retry: Option<Instant>,
    touched: bool,
}

pub(super) struct Nodes {
    pub(super) now: Instant,
    pub(super) all: Vec<Node>,
    pub(super) refused: Vec<(usize, Answer)>,
}

impl Nodes {
    pub(super) fn new(stores: Vec<(Arc<dyn Store>, bool)>) -> Self {
        let node = |(store, connected): (_, bool)| Node {
            store,
            down: (!connected).then(not_yet),
            closed: None,
            pending: TicketMap::default(),
            dropped: 0,
            retry: None,
            touched: false,
        };
        Self {
            now: clock::now(),
            all: stores.into_iter().map(node).collect(),
            refused: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn majority(&self) -> usize {
        majority(self.len())
    }

    pub(super) fn indices(&self) -> std::ops::Range<usize> {
        0..self.all.len()
    }

    pub(super) fn is_up(&self, node: usize) -> bool {
        self.all[node].down.is_none()
    }

    pub(super) fn reachable(&self) -> impl Iterator<Item = usize> + use<> {
        let up = self.indices().filter(|node| self.is_up(*node));
        // A quorum has at most 15 nodes.
        let up = up.fold(0u64, |set, node| set | 1 << node);
        self.indices().filter(move |node| up >> node & 1 == 1)
    }

    pub(super) fn up(&self) -> usize {
        self.reachable().count()
    }

    pub(super) fn are_connected(&self) -> bool {
        self.up() >= self.majority()
    }

    /// Why and until when no majority of the nodes grants. `None` if a majority grants now, or cannot be reached.
    pub(super) fn closed(&self) -> Option<Closed> {
        let closed = self.reachable().filter_map(|node| self.all[node].closed);
        let mut closed: Vec<_> = closed.filter(|it| self.now < it.until).collect();
        closed.sort_by_key(|closed| closed.until);
        let open = self.up() - closed.len();
        let missing = self.majority().checked_sub(open + 1)?;
        closed.get(missing).copied()
    }

    pub(super) fn note_up(&mut self, node: usize) {
        self.all[node].down = None;
        self.all[node].dropped = 0;
        self.send_pending(node, usize::MAX);
    }

    pub(super) fn disconnected(&self) -> StoreError {
        StoreError::disconnected(self.cause(self.majority()))
    }

    pub(super) fn unreachable(&self, enough: usize) -> StoreError {
        if !self.are_connected() {
            return self.disconnected();
        }
        // Not a disconnection, after which the member would wait for a reconnect although a majority is connected.
        StoreError::new(StoreErrorKind::Busy, self.cause(enough))
    }

    pub(super) fn trouble(&self, votes: &Votes, enough: usize) -> StoreError {
        let trouble = votes.trouble().cloned();
        trouble.unwrap_or_else(|| self.unreachable(enough))
    }

    fn cause(&self, enough: usize) -> String {
        let (up, all) = (self.up(), self.len());
        let down = self.all.iter().find_map(|node| node.down.as_ref());
        let cause = down.map(|error| format!(": {error}")).unwrap_or_default();
        let few = format!("fewer than {enough} of {all} servers have answered");
        match up {
            _ if up < enough => {
                format!("{up} of {all} servers can be reached, {enough} are needed{cause}")
            }
            _ if up < all => format!("{few}, and {up} can be reached{cause}"),
            _ => few,
        }
    }

    pub(super) fn send(&mut self, node: usize, job: u64, name: &Name, op: Op) {
        let request = Request {
            name: name.clone(),
            op,
            id: RequestId(job),
        };
        let state = &mut self.all[node];
        state.touched = true;
        if let Some(answer) = state.store.submit(request) {
            self.refused.push((node, answer));
        }
    }

    pub(super) fn release(&mut self, node: usize, job: u64, name: &Name, op: Op) {
        if self.is_up(node) {
            self.send(node, job, name, op);
        } else {
            self.add_pending(node, name, &op, false);
        }
    }

    /// With `refused`, the node has answered but keeps the ticket.
    pub(super) fn add_pending(&mut self, node: usize, name: &Name, op: &Op, refused: bool) {
        let now = self.now;
        let &Op::Release {
            ticket,
            park,
            tomb,
            used,
        } = op
        else {
            return;
        };
        let Node {
            pending,
            dropped,
            retry,
            ..
        } = &mut self.all[node];
        let mut until = Instant::NEVER;
        if refused {
            until = now.after(LIMITS.longest_lease);
            retry.get_or_insert(now.after(RETRY.0));
        }
        if pending.len() >= MOST_PENDING {
            pending.retain(|_, release| now < release.until);
        }
        if let Some(release) = pending.get_mut(&ticket) {
            release.tomb |= tomb;
            release.in_flight = false;
            // Another refusal changes nothing. After a lost connection, a copy of an acquire may arrive at any time.
            if until == Instant::NEVER {
                release.until = until;
            }
        } else if pending.len() < MOST_PENDING {
            let release = PendingRelease {
                name: name.clone(),
                park_until: now.after(park),
                tomb,
                used,
                until,
                in_flight: false,
            };
            pending.insert(ticket, release);
        } else {
            *dropped += 1;
            let dropped = *dropped;
            if dropped.is_power_of_two() {
                tell(move || {
                    tracing::warn!(
                        node,
                        dropped,
                        "too many releases wait for this server of the quorum: the server keeps these locks until their leases end"
                    );
                });
            }
        }
    }

    fn send_pending(&mut self, node: usize, most: usize) {
        let now = self.now;
        let state = &mut self.all[node];
        state.pending.retain(|_, release| now < release.until);
        let pending = state.pending.iter_mut();
        let mut waiting = pending.filter(|(_, release)| !release.in_flight);
        let mut due = Vec::new();
        for (ticket, release) in waiting.by_ref().take(most) {
            release.in_flight = true;
            let op = Op::Release {
                ticket: *ticket,
                park: now.until(release.park_until),
                tomb: release.tomb,
                used: release.used,
            };
            due.push((release.name.clone(), op));
        }
        state.retry = waiting.next().map(|_| now.after(RETRY.0));
        for (name, op) in due {
            self.send(node, NOBODY, &name, op);
        }
    }

    pub(super) fn retry(&mut self) {
        let now = self.now;
        for node in self.indices() {
            let due = self.all[node].retry.take_if(|retry| *retry <= now);
            if due.is_some() && self.is_up(node) {
                self.send_pending(node, RETRY.1);
            }
        }
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.all.iter().filter_map(|node| node.retry).min()
    }

    pub(super) fn flush(&mut self) {
        for node in &mut self.all {
            if std::mem::take(&mut node.touched) {
                node.store.flush();
            }
        }
    }

    pub(super) fn close(&self) {
        for node in &self.all {
            node.store.close();
        }
    }
}
