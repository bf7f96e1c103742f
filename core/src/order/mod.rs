//! Lock order: the orders in which the tasks of this process take several locks.
//!
//! Locks have classes: the template of a site's names with the type of `Self`, or the label of a handle. A task that
//! holds a lock of the class A and asks for one of the class B makes the edge A → B. Edges that form a circle are a
//! possible deadlock, even if it has never happened. [`LockOrder`] keeps the edges of one client.
//!
//! - [`known`]: the table that a nested call checks first; a known edge costs some nanoseconds and no allocation.
//! - [`graph`]: the edges, and the search for circles.
//! - [`edge`]: the public types. [`report`]: the texts about circles.

mod edge;
mod graph;
mod known;
mod report;

use std::collections::HashSet;

pub use self::edge::{OrderClass, OrderEdge};
use self::graph::Graph;
use self::known::{Label, Pair};
pub(crate) use self::report::check;
use crate::name::Name;
use crate::observe::BY_HAND;
use crate::site::Site;
use crate::store::Meta;
use crate::sync::Mutex;
use crate::wait::lock;

/// The reason of edges that `Config::allow_order` allows.
const BY_CONFIG: &str = "Config::allow_order";

/// The lock order of one client.
#[derive(Debug)]
pub(crate) struct LockOrder {
    client: u64,
    /// The pairs of classes that `Config::allow_order` allows.
    allowed: Vec<(String, String)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    /// The pairs of labels, by address, whose edges this client has seen.
    known: HashSet<Pair>,
}

/// A held lock.
#[derive(Clone, Copy)]
pub(crate) struct Taken<'a> {
    /// The client that holds it.
    pub(crate) client: u64,
    pub(crate) name: &'a Name,
    pub(crate) label: &'static str,
    pub(crate) meta: &'a str,
}

impl LockOrder {
    pub(crate) fn new(client: u64, allowed: Vec<(String, String)>) -> Self {
        Self {
            client,
            allowed,
            state: Mutex::default(),
        }
    }

    /// Notes that a call inside a protected call asks for a lock of the class `label`, and may wait for it. `names` are
    /// the locks that the call asks for; `meta` identifies the caller.
    #[inline]
    pub(crate) fn note<'a>(
        &self,
        held: impl Iterator<Item = Taken<'a>>,
        (label, meta): (&'static str, &str),
        names: impl Iterator<Item = &'a Name> + Clone,
    ) {
        if !is_class(label) {
            return;
        }
        let after = Label::of(label);
        let is_unknown = |taken: &Taken<'_>| {
            if taken.client != self.client {
                return false;
            }
            let before = Label::of(taken.label);
            let pair = Pair { before, after };
            if known::has(self.client, pair) {
                return false;
            }
            // If the call asks for nothing but the held name, there is no edge: it asks for more permits of the same
            // semaphore, or for the same lock through a handle that is not reentrant.
            let is_same = || names.clone().all(|name| taken.name == name);
            is_class(taken.label) && !is_same() && !self.is_known(pair)
        };
        let unknown: Vec<_> = held.filter(is_unknown).collect();
        if !unknown.is_empty() {
            self.learn(label, meta, &unknown);
        }
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

    /// Adds the new edges: from each lock in `held` to the class `label`. Warns of the circles that they close.
    #[cold]
    fn learn(&self, label: &'static str, meta: &str, held: &[Taken<'_>]) {
        let mut state = lock(&self.state);
        let mut circles = Vec::new();
        for taken in held {
            let pair = Pair {
                before: Label::of(taken.label),
                after: Label::of(label),
            };
            if state.known.insert(pair) {
                circles.extend(self.add(
                    &mut state.graph,
                    (taken.label, taken.meta),
                    (label, meta),
                ));
            }
            known::put(self.client, pair);
        }
        drop(state);
        circles.into_iter().for_each(report::warn);
    }

    /// Adds an edge, unless it is known or there are too many. Returns the circle that it closes.
    fn add(
        &self,
        graph: &mut Graph,
        (before, before_meta): (&'static str, &str),
        (after, after_meta): (&'static str, &str),
    ) -> Option<Vec<OrderEdge>> {
        let (_, before) = class_of(before);
        let (site, after) = class_of(after);
        let key = (before, after);
        if !graph.lacks(key) {
            return None;
        }
        let reason = site.and_then(|site| site.data.order);
        let by_config = || {
            let mut allowed = self.allowed.iter();
            let found = allowed.any(|(first, second)| first == before && second == after);
            found.then_some(BY_CONFIG)
        };
        let edge = OrderEdge {
            before: taken_at(before, before_meta),
            after: taken_at(after, after_meta),
            inverted: false,
            allowed: reason.or_else(by_config).map(str::to_owned),
        };
        graph.insert(key, edge);
        let circle = graph.circle(key)?;
        Some(circle.into_iter().cloned().collect())
    }

    /// The edges of this client.
    pub(crate) fn edges(&self) -> Vec<OrderEdge> {
        lock(&self.state).graph.edges()
    }

    /// A report for each circle, shortest circles first.
    pub(crate) fn circles(&self) -> Vec<String> {
        let state = lock(&self.state);
        let circles = state.graph.circles();
        circles.iter().map(|circle| report::text(circle)).collect()
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

/// The class, with the place in the program that a caller's `meta` names.
fn taken_at(class: &str, meta: &str) -> OrderClass {
    let caller = Meta::caller(meta);
    let file = caller.as_ref().and_then(|caller| caller.file());
    let line = caller.as_ref().and_then(|caller| caller.line());
    OrderClass {
        class: class.to_owned(),
        file: file.unwrap_or_default().to_owned(),
        line: line.unwrap_or_default(),
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
