//! Lock order: a task that holds a lock of the class A and asks for one of the class B makes the edge A → B. Edges that
//! form a cycle are a possible deadlock, even if it has never happened.

mod graph;
mod known;

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;

use self::graph::Graph;
use self::known::{Pair, label};
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::wait::{self, lock};
use crate::observe::{BY_HAND, ORDER};
use crate::site::Site;
use crate::store::meta;

const BY_CONFIG: &str = "Config::allow_order";

/// One order of locks: a lock of one class was asked for while a lock of another class was held. See
/// [`lock_order`](crate::lock_order).
///
/// Its `Display` output is one line with both places.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderEdge {
    /// The lock that was held.
    pub before: OrderClass,
    /// The lock that was asked for.
    pub after: OrderClass,
    /// Whether the order contradicts other orders: it is part of a cycle, so calls in these orders may wait for each
    /// other for ever. Also true if the two classes are the same.
    pub inverted: bool,
    /// Why the order is intended: the text of the option `order`, or `Config::allow_order`. Such an order contradicts
    /// no other.
    pub allowed: Option<String>,
}

/// A class of locks, and a place that takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderClass {
    /// The template of the names, as [`Site::name`](crate::Site::name) returns it; or the `metrics_label` of a handle.
    pub class: String,
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

impl fmt::Display for OrderClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}:{})", self.class, self.file, self.line)
    }
}

#[derive(Debug)]
pub(crate) struct LockOrder {
    client: u64,
    /// By `Config::allow_order`.
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

    /// A call that may wait asks for `names`, of the class `after`. `meta` identifies the caller.
    #[inline]
    pub(crate) fn note<'a>(
        &self,
        held: impl Iterator<Item = Taken<'a>>,
        (after, meta): (&'static str, &str),
        names: impl Iterator<Item = &'a Name> + Clone,
    ) {
        if !is_class(after) {
            return;
        }
        let is_unknown = |taken: &Taken<'_>| {
            let pair = (label(taken.label), label(after));
            if taken.client != self.client || known::has(self.client, pair) {
                return false;
            }
            // More permits of the same semaphore, or the same lock through a handle that is not reentrant: there is no
            // edge.
            let is_same = || names.clone().all(|name| taken.name == name);
            is_class(taken.label) && !is_same() && !self.is_known(pair)
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

    /// Warns of the cycles that the new edges close.
    #[cold]
    fn learn(&self, after: &'static str, meta: &str, held: &[Taken<'_>]) {
        let mut state = lock(&self.state);
        let (graph, seen) = &mut *state;
        let mut circles = Vec::new();
        for taken in held {
            let pair = (label(taken.label), label(after));
            if seen.insert(pair) {
                circles.extend(self.add(graph, (taken.label, taken.meta), (after, meta)));
            }
            known::put(self.client, pair);
        }
        drop(state);
        circles.into_iter().for_each(warn);
    }

    /// Returns the cycle that the edge closes, unless it is known or there are too many.
    fn add(
        &self,
        graph: &mut Graph,
        (before, before_meta): (&'static str, &str),
        (after, after_meta): (&'static str, &str),
    ) -> Option<Vec<OrderEdge>> {
        let class_of = |label| Site::labelled(label).map_or(label, |(_, class)| class);
        let reason = Site::labelled(after).and_then(|(site, _)| site.data.order);
        let (before, after) = (class_of(before), class_of(after));
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
        let circle = graph.circle(key)?;
        Some(circle.into_iter().cloned().collect())
    }

    pub(crate) fn edges(&self) -> Vec<OrderEdge> {
        lock(&self.state).0.edges()
    }

    pub(crate) fn circles(&self) -> Vec<String> {
        let state = lock(&self.state);
        let circles = state.0.circles();
        circles.iter().map(|circle| text(circle)).collect()
    }
}

/// Locks of handles without a label have no class.
#[inline]
fn is_class(label: &str) -> bool {
    label != BY_HAND && !label.is_empty()
}

fn taken_at(class: &str, meta: &str) -> OrderClass {
    let caller = meta::caller(meta);
    let file = caller.as_ref().and_then(|caller| caller.file());
    let line = caller.as_ref().and_then(|caller| caller.line());
    OrderClass {
        class: class.to_owned(),
        file: file.unwrap_or_default().to_owned(),
        line: line.unwrap_or_default(),
    }
}

fn text(circle: &[impl Borrow<OrderEdge>]) -> String {
    let edges = circle.iter().map(|edge| edge.borrow().to_string());
    let mut text = edges.collect::<Vec<_>>().join("; ");
    if circle.len() == 1 {
        text += ": the same class twice, with other keys: take them together with `keys = [..]`";
    }
    text
}

/// Call this while no mutex is locked.
fn warn(circle: Vec<OrderEdge>) {
    wait::tell(move || match circle.len() {
        1 => tracing::warn!(
            target: ORDER,
            order = text(&circle),
            "a call takes a lock inside another one of the same class: two such calls may wait for each other for ever"
        ),
        _ => tracing::warn!(
            target: ORDER,
            order = text(&circle),
            "locks are taken in opposite orders: calls may wait for each other for ever"
        ),
    });
}

/// Each cycle once, even if several clients have reported it.
#[track_caller]
pub(crate) fn check(mut circles: Vec<String>) {
    circles.sort_unstable();
    circles.dedup();
    assert!(
        circles.is_empty(),
        "locks are taken in opposite orders, so calls may wait for each other for ever:\n- {}",
        circles.join("\n- ")
    );
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
