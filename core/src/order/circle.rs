//! Circles of edges: deadlocks that may happen.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use super::graph::{Graph, Key};

/// A shortest circle that contains the edge `key`, and begins with it. `None` if the edge is allowed, or is part of no
/// circle.
pub(super) fn with(graph: &Graph, key: &Key) -> Option<Vec<Key>> {
    let edge = graph.get(key)?;
    if edge.allowed.is_some() {
        return None;
    }
    if key.0 == key.1 {
        return Some(vec![key.clone()]);
    }
    // The edge by which each class was reached.
    let mut reached: BTreeMap<Arc<str>, Key> = BTreeMap::new();
    let mut next = VecDeque::from([key.1.clone()]);
    while let Some(class) = next.pop_front() {
        for edge in graph.from(&class) {
            if edge.1 == key.1 || reached.contains_key(&edge.1) {
                continue;
            }
            reached.insert(edge.1.clone(), edge.clone());
            if edge.1 == key.0 {
                return Some(back(&reached, key));
            }
            next.push_back(edge.1.clone());
        }
    }
    None
}

/// The circle from `key` along the edges in `reached`, back to the first class of `key`.
fn back(reached: &BTreeMap<Arc<str>, Key>, key: &Key) -> Vec<Key> {
    let mut circle = Vec::new();
    let mut class = &key.0;
    while let Some(edge) = reached.get(class) {
        circle.push(edge.clone());
        class = &edge.0;
    }
    circle.push(key.clone());
    circle.reverse();
    circle
}

/// The sorted classes of a circle, which identify the circle.
pub(super) fn classes(circle: &[Key]) -> Vec<Arc<str>> {
    let classes: BTreeSet<_> = circle.iter().map(|key| key.0.clone()).collect();
    classes.into_iter().collect()
}

/// A shortest circle for each edge that is part of one. Of several circles with the same classes, only one is returned.
/// Shorter circles come first.
pub(super) fn all(graph: &Graph) -> Vec<Vec<Key>> {
    let inverted = inverted(graph);
    let mut seen = HashSet::new();
    let mut circles: Vec<_> = graph
        .counted()
        .filter(|key| inverted.contains(*key))
        .filter_map(|key| with(graph, key))
        .filter(|circle| seen.insert(classes(circle)))
        .collect();
    circles.sort_by_key(Vec::len);
    circles
}

/// The edges that are part of any circle: those within a strongly connected component (Kosaraju's algorithm, without
/// recursion).
pub(super) fn inverted(graph: &Graph) -> HashSet<Key> {
    let mut backwards: BTreeMap<&Arc<str>, Vec<&Arc<str>>> = BTreeMap::new();
    for (before, after) in graph.counted() {
        backwards.entry(after).or_default().push(before);
    }
    // The classes, in the order in which the first search leaves them.
    let mut left: Vec<&Arc<str>> = Vec::new();
    let mut seen: HashSet<&Arc<str>> = HashSet::new();
    for (start, _) in graph.counted() {
        if !seen.insert(start) {
            continue;
        }
        let mut path = vec![(start, graph.from(start))];
        while let Some((class, edges)) = path.last_mut() {
            match edges.find(|edge| !seen.contains(&edge.1)) {
                Some((_, after)) => {
                    seen.insert(after);
                    path.push((after, graph.from(after)));
                }
                None => {
                    left.push(class);
                    path.pop();
                }
            }
        }
    }
    let mut component: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for (number, root) in left.into_iter().rev().enumerate() {
        let mut next = vec![root];
        while let Some(class) = next.pop() {
            if component.contains_key(class) {
                continue;
            }
            component.insert(class, number);
            next.extend(backwards.get(class).into_iter().flatten());
        }
    }
    let inside = |key: &&Key| component.get(&key.0) == component.get(&key.1);
    graph.counted().filter(inside).cloned().collect()
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::super::graph::key;
    use super::super::tests::{allowed, graph};
    use super::*;

    /// The classes along the circle of the edge `before after`.
    fn path(graph: &Graph, before: &str, after: &str) -> Option<String> {
        let circle = with(graph, &key(before, after))?;
        let classes: Vec<_> = circle.iter().map(|key| &*key.0).collect();
        Some(classes.join(" "))
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
        assert_eq!(all(&graph).len(), 1);
        assert_eq!(inverted(&graph).len(), 3);
    }

    #[test]
    fn the_shortest_circle_is_reported() {
        let graph = graph(&["a b", "b c", "c a", "b a"]);
        assert_eq!(path(&graph, "a", "b").as_deref(), Some("a b"));
        let all = all(&graph);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_class_within_itself_is_a_circle() {
        let graph = graph(&["a a", "a b"]);
        assert_eq!(path(&graph, "a", "a").as_deref(), Some("a"));
        assert_eq!(inverted(&graph).len(), 1);
        assert_eq!(all(&graph).len(), 1);
    }

    #[test]
    fn an_allowed_edge_closes_no_circle() {
        let mut graph = graph(&["a b", "b a"]);
        assert_eq!(all(&graph).len(), 1);
        allowed(&mut graph, "b a");
        assert_eq!(path(&graph, "a", "b"), None);
        assert_eq!(path(&graph, "b", "a"), None);
        assert!(all(&graph).is_empty() && inverted(&graph).is_empty());
    }

    #[test]
    fn an_edge_between_two_circles_is_on_none() {
        let graph = graph(&["a b", "b a", "b c", "c d", "d c"]);
        let inverted = inverted(&graph);
        assert_eq!(inverted.len(), 4);
        assert!(!inverted.contains(&key("b", "c")));
    }

    #[test]
    fn the_search_agrees_with_a_plain_one_on_random_graphs() {
        let mut random = crate::dice::Dice(17);
        for _ in 0..300 {
            let classes = 2 + random.below(6);
            let edges: Vec<String> = (0..random.below(14))
                .map(|_| format!("{} {}", random.below(classes), random.below(classes)))
                .collect();
            let texts: Vec<&str> = edges.iter().map(String::as_str).collect();
            let graph = graph(&texts);
            let inverted = inverted(&graph);
            for key in graph.counted() {
                assert_eq!(
                    inverted.contains(key),
                    with(&graph, key).is_some(),
                    "{edges:?}"
                );
            }
        }
    }
}
