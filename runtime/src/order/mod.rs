//! Lock order: the orders in which tasks take several locks.
//!
//! Locks have classes: the template of a site's names with the type of `Self`, or the label of a handle. A task that
//! holds a lock of the class A and asks for one of the class B makes the edge A → B. Edges that form a circle are a
//! possible deadlock, even if it has never happened. [`LockOrder`] keeps the edges of one client.
//!
//! - [`known`]: the table that a nested call checks first; a known edge costs some nanoseconds and no allocation.
//! - [`graph`]: the edges. [`circle`]: the search for circles.
//! - [`record`]: an edge as text in the store.
//! - [`share`]: the exchange with the store, in the background.
//! - [`edge`]: the public types. [`report`]: the texts about circles.
//!
//! The rules of the store are in `docs/protocol.md` ("Lock order"), and in `store/memory/order.rs` and `scripts/order.lua`.

mod circle;
mod edge;
mod graph;
mod known;
mod record;
mod report;
mod share;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

pub use self::edge::{OrderClass, OrderEdge, OrderProgram};
pub(crate) use self::graph::Graph;
use self::graph::{Edge, Place};
use self::known::{Label, Pair};
pub(crate) use self::record::namespace_of;
use self::record::order_name;
pub(crate) use self::report::check;
use self::share::Share;
use crate::clock::Instant;
use crate::config::Settings;
use crate::error::StoreError;
use crate::name::Name;
use crate::observe::BY_HAND;
use crate::queue::Hold;
use crate::site::Site;
use crate::store::{Meta, Op, Reply};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::wait::lock;

/// The maximum number of edges that a client keeps. The store keeps as many.
const MOST: usize = crate::store::limits::MOST_EDGES;

/// The reason of edges that `Config::allow_order` allows.
const BY_CONFIG: &str = "Config::allow_order";

/// The lock order of one client.
#[derive(Debug)]
pub(crate) struct LockOrder {
    client: u64,
    /// The name under which the clients of the namespace share their edges.
    name: Name,
    namespace: Option<Arc<str>>,
    /// The pairs of classes that `Config::allow_order` allows.
    allowed: Vec<(String, String)>,
    /// This machine and process.
    machine: String,
    pid: u32,
    state: Mutex<State>,
    /// When the engine must call [`request`](LockOrder::request) next, in nanoseconds. The engine reads this without
    /// locking the mutex.
    due: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    /// The pairs of labels, by address, whose edges this client has seen.
    known: HashSet<Pair>,
    share: Share,
}

impl LockOrder {
    pub(crate) fn new(client: u64, settings: &Settings, machine: &str, pid: u32) -> Self {
        let namespace = settings.namespace.as_deref();
        Self {
            client,
            name: order_name(namespace),
            namespace: namespace.map(Into::into),
            allowed: settings.allowed_orders.clone(),
            machine: machine.to_owned(),
            pid,
            state: Mutex::default(),
            due: AtomicU64::new(Instant::NEVER.as_nanos()),
        }
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// Notes that a call inside a protected call asks for a lock of the class `label`, and may wait for it. `names` are
    /// the locks that the call asks for; `meta` identifies the caller. Returns `true` if the engine has something to
    /// send.
    #[inline]
    pub(crate) fn note<'a>(
        &self,
        held: impl Iterator<Item = &'a Arc<Hold>>,
        (label, meta): (&'static str, &str),
        names: impl Iterator<Item = &'a Name> + Clone,
    ) -> bool {
        if !is_class(label) {
            return false;
        }
        let after = Label::of(label);
        let is_unknown = |hold: &&Arc<Hold>| {
            if hold.client_id() != self.client {
                return false;
            }
            let held = hold.grant().label;
            let before = Label::of(held);
            let pair = Pair { before, after };
            if known::has(self.client, pair) {
                return false;
            }
            // If the call asks for nothing but the held name, there is no edge: it asks for more permits of the same
            // semaphore, or for the same lock through a handle that is not reentrant.
            let is_same = || names.clone().all(|name| hold.name() == name);
            is_class(held) && !is_same() && !self.is_known(pair)
        };
        let unknown: Vec<_> = held.filter(is_unknown).collect();
        !unknown.is_empty() && self.learn(label, meta, &unknown)
    }

    /// Looks an edge up that this thread has not seen recently.
    #[cold]
    fn is_known(&self, pair: Pair) -> bool {
        let is_known = lock(&self.state).known.contains(&pair);
        if is_known {
            known::put(self.client, pair);
        }
        is_known
    }

    /// Adds the new edges: from each lock in `held` to the class `label`. Returns whether the client has a new edge.
    #[cold]
    fn learn(&self, label: &'static str, meta: &str, held: &[&Arc<Hold>]) -> bool {
        let mut state = lock(&self.state);
        let mut is_new = false;
        for hold in held {
            let grant = hold.grant();
            let pair = Pair {
                before: Label::of(grant.label),
                after: Label::of(label),
            };
            if state.known.insert(pair) {
                is_new |= self.add(&mut state, (grant.label, &grant.meta), (label, meta));
            }
            known::put(self.client, pair);
        }
        if is_new {
            let due = state.share.due();
            self.due.store(due.as_nanos(), Ordering::Release);
        }
        is_new
    }

    /// Adds an edge. Returns `false` if this client already has it, or has [`MOST`] edges.
    fn add(
        &self,
        state: &mut State,
        (before, before_meta): (&'static str, &str),
        (after, after_meta): (&'static str, &str),
    ) -> bool {
        let (before_site, before) = class_of(before);
        let (after_site, after) = class_of(after);
        let key = graph::key(before, after);
        if state.graph.is_own(&key) || state.graph.len() >= MOST {
            return false;
        }
        let reason = after_site.and_then(|site| site.data.order);
        let by_config = || {
            let mut allowed = self.allowed.iter();
            let found = allowed.any(|(first, second)| first == before && second == after);
            found.then_some(BY_CONFIG)
        };
        let package = after_site.or(before_site).map(Site::package);
        let edge = Edge {
            before: place(before_meta),
            after: place(after_meta),
            machine: self.machine.as_str().into(),
            pid: self.pid,
            package: package.map_or_else(program, str::to_owned).into(),
            since: SystemTime::now(),
            allowed: reason.or_else(by_config).map(Into::into),
            is_own: true,
        };
        state.graph.insert(key.clone(), edge);
        let State { graph, share, .. } = state;
        share.added(key, graph, Instant::now());
        true
    }

    /// When [`request`](Self::request) may have something to send.
    pub(crate) fn due(&self) -> Instant {
        Instant::from_nanos(self.due.load(Ordering::Acquire))
    }

    /// The next request to the store, if one is due. The engine calls this.
    pub(crate) fn request(&self, now: Instant) -> Option<Op> {
        if now < self.due() {
            return None;
        }
        let mut state = lock(&self.state);
        let State { graph, share, .. } = &mut *state;
        let op = share.request(now, graph);
        let told = share.overdue(now);
        self.due.store(share.due().as_nanos(), Ordering::Release);
        drop(state);
        report::warn(told);
        op
    }

    /// Handles the store's answer to the last request. The engine calls this.
    pub(crate) fn answered(&self, result: Result<Reply, StoreError>, now: Instant) {
        let mut state = lock(&self.state);
        let State { graph, share, .. } = &mut *state;
        let told = share.answered(result, now, graph);
        self.due.store(share.due().as_nanos(), Ordering::Release);
        drop(state);
        report::warn(told);
    }

    /// The edges that this client knows.
    pub(crate) fn edges(&self) -> Vec<OrderEdge> {
        lock(&self.state).graph.edges(self.namespace.as_deref())
    }

    /// The reports about all circles that this client knows.
    pub(crate) fn circles(&self) -> Vec<String> {
        lock(&self.state).graph.circles()
    }
}

/// Whether a label is a class. Locks of handles without a label have no class.
#[inline]
fn is_class(label: &str) -> bool {
    label != BY_HAND && !label.is_empty()
}

/// The class of the locks with the label `label`, and their site if they have one.
fn class_of(label: &'static str) -> (Option<&'static Site>, &'static str) {
    match Site::labelled(label) {
        Some((site, class)) => (Some(site), class),
        None => (None, label),
    }
}

/// The place in the program that a caller's `meta` names.
fn place(meta: &str) -> Place {
    let caller = Meta::caller(meta);
    let file = caller.as_ref().and_then(|caller| caller.file());
    let line = caller.as_ref().and_then(|caller| caller.line());
    Place {
        file: file.unwrap_or_default().into(),
        line: line.unwrap_or_default(),
    }
}

/// The name of this program, for edges between handles, whose package is not known.
fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_deref().and_then(std::path::Path::file_stem);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
