//! Lock order: a task that holds a lock labelled A and asks for one labelled B makes the edge A → B. Edges that form a
//! cycle show a possible deadlock, even one that never happened.

mod graph;
mod known;

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;

use self::graph::Graph;
use self::known::{Pair, label_id};
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::wait::{self, lock};
use crate::observe::{BY_HAND, ORDER};
use crate::site::Site;
use crate::store::meta;

const BY_CONFIG: &str = "Config::allow_order";

/// One order of locks: while a lock with one label was held, a lock with another label was asked for. See
/// [`lock_order`](crate::lock_order).
///
/// Its `Display` output is one line with both locks and where they were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderEdge {
    /// The lock that was held.
    pub before: OrderedLock,
    /// The lock that was asked for.
    pub after: OrderedLock,
    /// Whether the order contradicts others: it is part of a cycle, so calls in these orders may deadlock. Also true if
    /// the two labels are the same.
    pub inverted: bool,
    /// Why the order is intended: the text of the option `order`, or `Config::allow_order`. Such an order contradicts
    /// no other.
    pub allowed: Option<String>,
}

/// The label of a lock, and the code that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderedLock {
    /// The template of the names, as returned by [`Site::name`](crate::Site::name); or the `metrics_label` of a handle.
    pub label: String,
    /// The file, as it was given to the compiler.
    pub file: String,
    /// The line of the function's name, or the line where the handle was made.
    pub line: u32,
}

impl fmt::Display for OrderEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, then {}", self.before, self.after)
    }
}

impl fmt::Display for OrderedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}:{})", self.label, self.file, self.line)
    }
}

#[derive(Debug)]
pub(crate) struct LockOrder {
    client: u64,
    /// The pairs of labels given to `Config::allow_order`.
    allowed: Vec<(String, String)>,
    /// The edges, and the pairs of labels whose edges were seen.
    state: Mutex<(Graph, HashSet<Pair>)>,
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

    /// Records that a call which may wait asks for `names`, labelled `after`. `meta` identifies the caller.
    #[inline]
    pub(crate) fn note<'a>(
        &self,
        held: impl Iterator<Item = Taken<'a>>,
        (after, meta): (&'static str, &str),
        names: impl Iterator<Item = &'a Name> + Clone,
    ) {
        if !has_own_label(after) {
            return;
        }
        let is_unknown = |taken: &Taken<'_>| {
            let pair = (label_id(taken.label), label_id(after));
            if taken.client != self.client || known::has(self.client, pair) {
                return false;
            }
            // Not an edge: more permits of the same semaphore, or the same lock through a handle that is not reentrant.
            let is_same = || names.clone().all(|name| taken.name == name);
            has_own_label(taken.label) && !is_same() && !self.is_known(pair)
        };
        let unknown: Vec<_> = held.filter(is_unknown).collect();
        if !unknown.is_empty() {
            self.learn(after, meta, &unknown);
        }
    }

    #[cold]
    fn is_known(&self, pair: Pair) -> bool {
        let is_known = lock(&self.state).1.contains(&pair);
        if is_known {
            known::put(self.client, pair);
        }
        is_known
    }

    /// Warns about cycles that the new edges close.
    #[cold]
    fn learn(&self, after: &'static str, meta: &str, held: &[Taken<'_>]) {
        let mut state = lock(&self.state);
        let (graph, seen) = &mut *state;
        let mut cycles = Vec::new();
        for taken in held {
            let pair = (label_id(taken.label), label_id(after));
            if seen.insert(pair) {
                cycles.extend(self.add(graph, (taken.label, taken.meta), (after, meta)));
            }
            known::put(self.client, pair);
        }
        drop(state);
        cycles.into_iter().for_each(warn);
    }

    /// Returns the cycle that the edge closes. `None` if the edge is known, or there are too many edges.
    fn add(
        &self,
        graph: &mut Graph,
        (before, before_meta): (&'static str, &str),
        (after, after_meta): (&'static str, &str),
    ) -> Option<Vec<OrderEdge>> {
        let in_order = |label| Site::labelled(label).map_or(label, |(_, in_order)| in_order);
        let reason = Site::labelled(after).and_then(|(site, _)| site.data.order);
        let (before, after) = (in_order(before), in_order(after));
        let key = (before, after);
        if !graph.lacks(key) {
            return None;
        }
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
        let cycle = graph.cycle(key)?;
        Some(cycle.into_iter().cloned().collect())
    }

    pub(crate) fn edges(&self) -> Vec<OrderEdge> {
        lock(&self.state).0.edges()
    }

    pub(crate) fn cycles(&self) -> Vec<String> {
        let state = lock(&self.state);
        let cycles = state.0.cycles();
        cycles.iter().map(|cycle| text(cycle)).collect()
    }
}

/// Handles without their own label share one label, and are left out of the lock order.
#[inline]
fn has_own_label(label: &str) -> bool {
    label != BY_HAND && !label.is_empty()
}

fn taken_at(label: &str, meta: &str) -> OrderedLock {
    let caller = meta::caller(meta);
    let file = caller.as_ref().and_then(|caller| caller.file());
    let line = caller.as_ref().and_then(|caller| caller.line());
    OrderedLock {
        label: label.to_owned(),
        file: file.unwrap_or_default().to_owned(),
        line: line.unwrap_or_default(),
    }
}

fn text(cycle: &[impl Borrow<OrderEdge>]) -> String {
    let edges = cycle.iter().map(|edge| edge.borrow().to_string());
    let mut text = edges.collect::<Vec<_>>().join("; ");
    if cycle.len() == 1 {
        text += ": the same label twice, with other keys: take them together with `keys = [..]`";
    }
    text
}

/// Call this while no mutex is locked.
fn warn(cycle: Vec<OrderEdge>) {
    wait::tell(move || match cycle.len() {
        1 => tracing::warn!(
            target: ORDER,
            order = text(&cycle),
            "a call takes a lock inside another one of the same label: two such calls may deadlock"
        ),
        _ => tracing::warn!(
            target: ORDER,
            order = text(&cycle),
            "locks are taken in opposite orders: calls may deadlock, so take them in one order everywhere"
        ),
    });
}

/// Panics if there are cycles. Lists each once, even if several clients have reported it.
#[track_caller]
pub(crate) fn check(mut cycles: Vec<String>) {
    cycles.sort_unstable();
    cycles.dedup();
    assert!(
        cycles.is_empty(),
        "locks are taken in opposite orders, so calls may deadlock:\n- {}",
        cycles.join("\n- ")
    );
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
