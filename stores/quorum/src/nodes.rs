//! [`Nodes`]: the servers of the quorum: which are reachable, the requests to each, and the pending releases of each.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, GrantBlock, Instant, LONGEST_LEASE, Name, Op, Request, RequestId, Store, Ticket,
    TicketMap, not_yet, tell,
};

use super::votes::majority;

/// Takes the place of a job's number if no job waits for the answer.
pub(super) const NOBODY: u64 = 0;

pub(super) const MOST_PENDING: usize = 10_000;
/// The delay before refused releases are sent again, and how many are sent at a time.
const RETRY: (Duration, usize) = (Duration::from_millis(200), 100);

/// A release that a node may not have executed.
#[derive(Debug)]
struct PendingRelease {
    name: Name,
    park_until: Instant,
    /// Whether the release leaves a tombstone: a copy of an acquire, or of this release, may arrive at any time.
    tomb: bool,
    used: u64,
    /// When the ticket has expired on the node by itself. Never, if an acquire may still arrive at any time.
    until: Instant,
    in_flight: bool,
}

struct Node {
    store: Arc<dyn Store>,
    /// Why the node is unreachable; `None` if it is reachable.
    down: Option<StoreError>,
    closing: Option<GrantBlock>,
    pending: TicketMap<PendingRelease>,
    /// How many releases were dropped because too many were pending, since the node was last reachable.
    dropped: u64,
    retry: Option<Instant>,
    /// Whether a request was submitted since the last flush.
    touched: bool,
}

pub(super) struct Nodes {
    all: Vec<Node>,
    /// Answers that a store returned at once, because it takes no more requests.
    pub(super) refused: Vec<(usize, Answer)>,
}

impl Nodes {
    /// `stores`: the store of each node, and whether it is connected already.
    pub(super) fn new(stores: Vec<(Arc<dyn Store>, bool)>) -> Self {
        let node = |(store, connected): (_, bool)| Node {
            store,
            down: (!connected).then(not_yet),
            closing: None,
            pending: TicketMap::default(),
            dropped: 0,
            retry: None,
            touched: false,
        };
        Self {
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

    pub(super) fn up(&self) -> usize {
        self.all.iter().filter(|node| node.down.is_none()).count()
    }

    pub(super) fn are_connected(&self) -> bool {
        self.up() >= self.majority()
    }

    pub(super) fn note_closed(&mut self, node: usize, closing: Option<GrantBlock>) {
        self.all[node].closing = closing;
    }

    /// The block after which a majority of the nodes grants; `None` if a majority grants now, or cannot be reached.
    pub(super) fn closing(&self, now: Instant) -> Option<GrantBlock> {
        let up = self.all.iter().filter(|node| node.down.is_none());
        let closing = up.filter_map(|node| node.closing);
        let mut closing: Vec<_> = closing.filter(|closing| now < closing.until).collect();
        closing.sort_by_key(|closing| closing.until);
        let open = self.up() - closing.len();
        let missing = self.majority().checked_sub(open + 1)?;
        closing.get(missing).copied()
    }

    pub(super) fn note_down(&mut self, node: usize, error: StoreError) {
        self.all[node].down = Some(error);
    }

    /// The node is reachable again: sends its pending releases.
    pub(super) fn note_up(&mut self, node: usize, now: Instant) {
        self.all[node].down = None;
        self.all[node].dropped = 0;
        self.send_pending(node, now, usize::MAX);
    }

    pub(super) fn cause(&self, enough: usize) -> String {
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

    /// Sends `op` to `node`. `job`: the number of the job that waits for the answer.
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

    /// Sends a release if the node is reachable; otherwise keeps it as pending.
    pub(super) fn release(&mut self, node: usize, job: u64, name: &Name, op: Op, now: Instant) {
        if self.is_up(node) {
            self.send(node, job, name, op);
        } else {
            self.add_pending(node, name, &op, Instant::NEVER, now);
        }
    }

    pub(super) fn note_released(&mut self, node: usize, ticket: Ticket) {
        self.all[node].pending.remove(&ticket);
    }

    /// The node refused a release, or its connection broke before it answered.
    pub(super) fn note_unreleased(
        &mut self,
        node: usize,
        name: &Name,
        op: &Op,
        error: &StoreError,
        now: Instant,
    ) {
        if error.is_disconnected() {
            return self.add_pending(node, name, op, Instant::NEVER, now);
        }
        self.add_pending(node, name, op, now.after(LONGEST_LEASE), now);
        self.all[node].retry.get_or_insert(now.after(RETRY.0));
    }

    fn add_pending(&mut self, node: usize, name: &Name, op: &Op, until: Instant, now: Instant) {
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
            pending, dropped, ..
        } = &mut self.all[node];
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
            note_dropped(node, *dropped);
        }
    }

    /// Sends at most `most` pending releases. The others follow a little later.
    fn send_pending(&mut self, node: usize, now: Instant, most: usize) {
        let pending = &mut self.all[node].pending;
        pending.retain(|_, release| now < release.until);
        let mut waiting = pending.iter_mut().filter(|(_, release)| !release.in_flight);
        let releases = waiting.by_ref().take(most).map(|(ticket, release)| {
            release.in_flight = true;
            let op = Op::Release {
                ticket: *ticket,
                park: now.until(release.park_until),
                tomb: release.tomb,
                used: release.used,
            };
            (release.name.clone(), op)
        });
        let releases: Vec<_> = releases.collect();
        let retry = waiting.next().map(|_| now.after(RETRY.0));
        self.all[node].retry = retry;
        for (name, op) in releases {
            self.send(node, NOBODY, &name, op);
        }
    }

    pub(super) fn retry(&mut self, now: Instant) {
        for node in self.indices() {
            if self.all[node]
                .retry
                .take_if(|retry| *retry <= now)
                .is_some()
                && self.is_up(node)
            {
                self.send_pending(node, now, RETRY.1);
            }
        }
    }

    /// When to call [`retry`](Self::retry) next.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.all.iter().filter_map(|node| node.retry).min()
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(super) fn dropped(&self, node: usize) -> u64 {
        self.all[node].dropped
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(super) fn has_pending(&self, node: usize, ticket: Ticket) -> bool {
        self.all[node].pending.contains_key(&ticket)
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

/// Logs the first dropped release, and then each time when the number has doubled.
fn note_dropped(node: usize, dropped: u64) {
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
