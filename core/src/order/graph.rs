use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::OrderEdge;

/// The labels of the lock that is held and of the lock that is asked for.
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

    /// All edges, with those on a cycle marked.
    pub(super) fn edges(&self) -> Vec<OrderEdge> {
        let edges = self.0.iter().map(|(key, edge)| OrderEdge {
            inverted: self.cycle(*key).is_some(),
            ..edge.clone()
        });
        edges.collect()
    }

    /// One cycle for each set of labels, shorter ones first.
    pub(super) fn cycles(&self) -> Vec<Vec<&OrderEdge>> {
        let mut seen = HashSet::new();
        let mut cycles: Vec<_> = self.0.keys().filter_map(|key| self.cycle(*key)).collect();
        cycles.retain(|cycle| {
            let labels: BTreeSet<_> = cycle.iter().map(|edge| &edge.before.label).collect();
            seen.insert(labels)
        });
        cycles.sort_by_key(Vec::len);
        cycles
    }

    /// A shortest cycle that begins with the edge `key`; `None` for an allowed edge. The cycle of a new edge always has
    /// a new set of labels: an older cycle with the same labels would be a shorter way back.
    pub(super) fn cycle(&self, key: Key) -> Option<Vec<&OrderEdge>> {
        let (start, first) = key;
        self.from(start).find(|edge| *edge == key)?;
        // The edge by which each label was reached.
        let mut reached = BTreeMap::from([(first, key)]);
        let mut next = VecDeque::from([first]);
        while let Some(label) = next.pop_front() {
            if label == start {
                let before = |edge: &Key| (*edge != key).then(|| reached[edge.0]);
                let back = std::iter::successors(Some(reached[start]), before);
                let mut cycle: Vec<_> = back.filter_map(|edge| self.0.get(&edge)).collect();
                cycle.reverse();
                return Some(cycle);
            }
            for edge in self.from(label) {
                if let Entry::Vacant(entry) = reached.entry(edge.1) {
                    entry.insert(edge);
                    next.push_back(edge.1);
                }
            }
        }
        None
    }

    /// The edges from `label` that are not allowed.
    fn from(&self, label: &'static str) -> impl Iterator<Item = Key> {
        let all = self.0.range((label, "")..);
        let all = all.take_while(move |(key, _)| key.0 == label);
        all.filter(|(_, edge)| edge.allowed.is_none())
            .map(|(key, _)| *key)
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::super::tests::{edge, graph};
    use super::*;

    /// The labels along the cycle of the edge `before after`.
    fn path(graph: &Graph, before: &'static str, after: &'static str) -> Option<String> {
        let cycle = graph.cycle((before, after))?;
        let labels: Vec<_> = cycle.iter().map(|edge| &*edge.before.label).collect();
        Some(labels.join(" "))
    }

    fn inverted(graph: &Graph) -> usize {
        graph.edges().iter().filter(|edge| edge.inverted).count()
    }

    #[test]
    fn a_cycle_is_found_from_each_of_its_edges_and_from_no_other() {
        let graph = graph(&["a b", "b c", "c a", "c d", "x a"]);
        assert_eq!(path(&graph, "a", "b").as_deref(), Some("a b c"));
        assert_eq!(path(&graph, "b", "c").as_deref(), Some("b c a"));
        assert_eq!(path(&graph, "c", "a").as_deref(), Some("c a b"));
        for (before, after) in [("c", "d"), ("x", "a"), ("d", "c")] {
            assert_eq!(path(&graph, before, after), None, "{before} {after}");
        }
        assert_eq!(graph.cycles().len(), 1);
        assert_eq!(inverted(&graph), 3);
    }

    #[test]
    fn the_shortest_cycle_is_found() {
        let graph = graph(&["a b", "b c", "c a", "b a"]);
        assert_eq!(path(&graph, "a", "b").as_deref(), Some("a b"));
        let lengths: Vec<_> = graph.cycles().iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 3]);
    }

    #[test]
    fn a_label_within_itself_is_a_cycle() {
        let graph = graph(&["a a", "a b"]);
        assert_eq!(path(&graph, "a", "a").as_deref(), Some("a"));
        assert_eq!(inverted(&graph), 1);
        assert_eq!(graph.cycles().len(), 1);
    }

    #[test]
    fn an_allowed_edge_closes_no_cycle() {
        let mut graph = graph(&["a b", "b a"]);
        assert_eq!(graph.cycles().len(), 1);
        let allowed = Some("meant".to_owned());
        let (key, edge) = edge("b a");
        graph.insert(key, OrderEdge { allowed, ..edge });
        assert_eq!(path(&graph, "a", "b"), None);
        assert_eq!(path(&graph, "b", "a"), None);
        assert!(graph.cycles().is_empty());
        assert_eq!(inverted(&graph), 0);
    }

    #[test]
    fn an_edge_between_two_cycles_is_on_none() {
        let graph = graph(&["a b", "b a", "b c", "c d", "d c"]);
        assert_eq!(inverted(&graph), 4);
        assert_eq!(path(&graph, "b", "c"), None);
    }

    #[test]
    fn random_graphs_have_the_cycles_that_a_plain_search_finds() {
        const LABELS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
        const FAR: usize = 99;
        let mut random = auto_mutex_protocol::Dice(17);
        for _ in 0..300 {
            let count = 2 + random.below(6);
            let mut graph = Graph::default();
            let mut lengths = [[FAR; 7]; 7];
            let mut known = HashSet::new();
            for _ in 0..random.below(14) {
                let [from, to] = [(); 2].map(|()| random.below(count) as usize);
                let (key, edge) = edge(&format!("{} {}", LABELS[from], LABELS[to]));
                let is_new = graph.lacks(key);
                graph.insert(key, edge);
                lengths[from][to] = 1;
                // A new edge never closes a cycle with the labels of an existing one.
                if is_new && let Some(cycle) = graph.cycle(key) {
                    let labels = cycle.iter().map(|edge| edge.before.label.clone());
                    assert!(known.insert(labels.collect::<BTreeSet<_>>()), "{graph:?}");
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
            let index = |label| LABELS.iter().position(|known| *known == label).unwrap();
            for key in graph.0.keys() {
                let back = match key.0 == key.1 {
                    true => 0,
                    false => lengths[index(key.1)][index(key.0)],
                };
                let expected = (back < FAR).then_some(back + 1);
                let found = graph.cycle(*key).map(|cycle| cycle.len());
                assert_eq!(found, expected, "{key:?} {graph:?}");
            }
        }
    }
}
