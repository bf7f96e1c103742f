//! [`Graph`]: the edges that a client knows, its own and those of other clients.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::SystemTime;

/// The class of a held lock, and the class of a lock that is asked for while the first one is held.
pub(super) type Key = (Arc<str>, Arc<str>);

pub(super) fn key(before: &str, after: &str) -> Key {
    (before.into(), after.into())
}

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    pub(super) line: u32,
}

/// An edge, without its classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) before: Place,
    pub(super) after: Place,
    /// The machine of the program, as [`Meta::machine`](crate::store::Meta::machine) writes it.
    pub(super) machine: Arc<str>,
    pub(super) pid: u32,
    pub(super) package: Arc<str>,
    pub(super) since: SystemTime,
    /// Why the order is intended, if the program gives a reason. Such an edge is part of no circle.
    pub(super) allowed: Option<Arc<str>>,
    /// Whether this client has seen the edge itself.
    pub(super) is_own: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Graph {
    edges: BTreeMap<Key, Edge>,
}

impl Graph {
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn insert(&mut self, key: Key, edge: Edge) {
        self.edges.insert(key, edge);
    }

    /// All edges, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &Edge)> {
        self.edges.iter()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Edge> {
        self.edges.get(key)
    }

    pub(super) fn is_own(&self, key: &Key) -> bool {
        self.get(key).is_some_and(|edge| edge.is_own)
    }

    /// The edges that this client has seen itself.
    pub(super) fn own(&self) -> impl Iterator<Item = &Key> {
        let own = self.all().filter(|(_, edge)| edge.is_own);
        own.map(|(key, _)| key)
    }

    /// Adds an edge of another program. If this client has the same edge, its own edge stays, because the places of
    /// that edge are in this program.
    pub(super) fn learn(&mut self, key: Key, edge: Edge) {
        if !self.is_own(&key) {
            self.insert(key, edge);
        }
    }

    /// Forgets the edges of other clients.
    pub(super) fn forget_others(&mut self) {
        self.edges.retain(|_, edge| edge.is_own);
    }

    /// The edges that count for circles: all that are not allowed.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Key> {
        let counted = self.all().filter(|(_, edge)| edge.allowed.is_none());
        counted.map(|(key, _)| key)
    }

    /// The edges from `class` that count for circles.
    pub(super) fn from<'a>(&'a self, class: &'a Arc<str>) -> impl Iterator<Item = &'a Key> {
        let first: Key = (class.clone(), "".into());
        let all = self.edges.range((Bound::Included(first), Bound::Unbounded));
        all.take_while(move |(key, _)| key.0 == *class)
            .filter(|(_, edge)| edge.allowed.is_none())
            .map(|(key, _)| key)
    }
}
