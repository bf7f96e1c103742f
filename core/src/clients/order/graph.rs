use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::OrderEdge;

/// The class of a held lock, and the class of a lock that is asked for.
pub(super) type Key = (&'static str, &'static str);

pub(super) const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Graph(BTreeMap<Key, OrderEdge>);

impl Graph {
    pub(super) fn lacks(&self, key: Key) -> bool {
        self.0.len() < MOST && !self.0.contains_key(&key)
    }

    pub(super) fn insert(&mut self, key: Key, edge: OrderEdge) {
        self.0.insert(key, edge);
    }

    /// Those that are part of a cycle are marked.
    pub(super) fn edges(&self) -> Vec<OrderEdge> {
        let edges = self.0.iter().map(|(key, edge)| OrderEdge {
            inverted: self.circle(*key).is_some(),
            ..edge.clone()
        });
        edges.collect()
    }

    /// Only one for the same classes. Shorter cycles come first.
    pub(super) fn circles(&self) -> Vec<Vec<&OrderEdge>> {
        let mut seen = HashSet::new();
        let mut circles: Vec<_> = self.0.keys().filter_map(|key| self.circle(*key)).collect();
        circles.retain(|circle| {
            let classes: BTreeSet<_> = circle.iter().map(|edge| &edge.before.class).collect();
            seen.insert(classes)
        });
        circles.sort_by_key(Vec::len);
        circles
    }

    /// A shortest cycle that begins with the edge `key`; none for an allowed edge. A new edge's cycle has other
    /// classes than all cycles before: with the same classes, the old cycle would lead back in fewer steps.
    pub(super) fn circle(&self, key: Key) -> Option<Vec<&OrderEdge>> {
        let (start, first) = key;
        self.from(start).find(|edge| *edge == key)?;
        // The edge by which each class was reached.
        let mut reached = BTreeMap::from([(first, key)]);
        let mut next = VecDeque::from([first]);
        while let Some(class) = next.pop_front() {
            if class == start {
                let before = |edge: &Key| (*edge != key).then(|| reached[edge.0]);
                let back = std::iter::successors(Some(reached[start]), before);
                let mut circle: Vec<_> = back.filter_map(|edge| self.0.get(&edge)).collect();
                circle.reverse();
                return Some(circle);
            }
            for edge in self.from(class) {
                if let Entry::Vacant(place) = reached.entry(edge.1) {
                    place.insert(edge);
                    next.push_back(edge.1);
                }
            }
        }
        None
    }

    /// All that are not allowed.
    fn from(&self, class: &'static str) -> impl Iterator<Item = Key> {
        let all = self.0.range((class, "")..);
        let all = all.take_while(move |(key, _)| key.0 == class);
        all.filter(|(_, edge)| edge.allowed.is_none())
            .map(|(key, _)| *key)
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::super::tests::{edge, graph};
    use super::*;

    /// The classes along the cycle of the edge `before after`.
    fn path(graph: &Graph, before: &'static str, after: &'static str) -> Option<String> {
        let circle = graph.circle((before, after))?;
        let classes: Vec<_> = circle.iter().map(|edge| &*edge.before.class).collect();
        Some(classes.join(" "))
    }

    fn inverted(graph: &Graph) -> usize {
        graph.edges().iter().filter(|edge| edge.inverted).count()
    }

    #[test]
    fn a_circle_is_found_from_each_of_its_edges_and_from_no_other() {
        let graph = graph(&["a b", "b c", "c a", "c d", "x a"]);
        assert_eq!(path(&graph, "a", "b").as_deref(), Some("a b c"));
        assert_eq!(path(&graph, "b", "c").as_deref(), Some("b c a"));
        assert_eq!(path(&graph, "c", "a").as_deref(), Some("c a b"));
        for (before, after) in [("c", "d"), ("x", "a"), ("d", "c")] {
            assert_eq!(path(&graph, before, after), None, "{before} {after}");
        }
        assert_eq!(graph.circles().len(), 1);
        assert_eq!(inverted(&graph), 3);
    }

    #[test]
    fn the_shortest_circle_is_found() {
        let graph = graph(&["a b", "b c", "c a", "b a"]);
        assert_eq!(path(&graph, "a", "b").as_deref(), Some("a b"));
        let lengths: Vec<_> = graph.circles().iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 3]);
    }

    #[test]
    fn a_class_within_itself_is_a_circle() {
        let graph = graph(&["a a", "a b"]);
        assert_eq!(path(&graph, "a", "a").as_deref(), Some("a"));
        assert_eq!(inverted(&graph), 1);
        assert_eq!(graph.circles().len(), 1);
    }

    #[test]
    fn an_allowed_edge_closes_no_circle() {
        let mut graph = graph(&["a b", "b a"]);
        assert_eq!(graph.circles().len(), 1);
        let allowed = Some("meant".to_owned());
        let (key, edge) = edge("b a");
        graph.insert(key, OrderEdge { allowed, ..edge });
        assert_eq!(path(&graph, "a", "b"), None);
        assert_eq!(path(&graph, "b", "a"), None);
        assert!(graph.circles().is_empty());
        assert_eq!(inverted(&graph), 0);
    }

    #[test]
    fn an_edge_between_two_circles_is_on_none() {
        let graph = graph(&["a b", "b a", "b c", "c d", "d c"]);
        assert_eq!(inverted(&graph), 4);
        assert_eq!(path(&graph, "b", "c"), None);
    }

    #[test]
    fn random_graphs_have_the_circles_that_a_plain_search_finds() {
        const CLASSES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
        const FAR: usize = 99;
        let mut random = crate::testing::Dice(17);
        for _ in 0..300 {
            let count = 2 + random.below(6);
            let mut graph = Graph::default();
            let mut lengths = [[FAR; 7]; 7];
            let mut known = HashSet::new();
            for _ in 0..random.below(14) {
                let [from, to] = [(); 2].map(|()| random.below(count) as usize);
                let (key, edge) = edge(&format!("{} {}", CLASSES[from], CLASSES[to]));
                let is_new = graph.lacks(key);
                graph.insert(key, edge);
                lengths[from][to] = 1;
                // A new edge closes no cycle of the same classes as one that was there before.
                if is_new && let Some(circle) = graph.circle(key) {
                    let classes = circle.iter().map(|edge| edge.before.class.clone());
                    assert!(known.insert(classes.collect::<BTreeSet<_>>()), "{graph:?}");
                }
            }
            for via in 0..7 {
                for from in 0..7 {
                    for to in 0..7 {
                        let through = lengths[from][via] + lengths[via][to];
                        lengths[from][to] = lengths[from][to].min(through);
                    }
                }
            }
            let place = |class| CLASSES.iter().position(|known| *known == class).unwrap();
            for key in graph.0.keys() {
                let back = match key.0 == key.1 {
                    true => 0,
                    false => lengths[place(key.1)][place(key.0)],
                };
                let expected = (back < FAR).then_some(back + 1);
                let found = graph.circle(*key).map(|circle| circle.len());
                assert_eq!(found, expected, "{key:?} {graph:?}");
            }
        }
    }
}
