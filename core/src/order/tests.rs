//! Helpers that build graphs from texts, for the tests of this folder, and tests of a client's lock order without a
//! store.

use super::graph::{Key, MOST};
use super::*;

/// An edge, given as the text `before after`.
pub(super) fn edge(text: &str) -> (Key, OrderEdge) {
    let (before, after) = text.split_once(' ').unwrap();
    let label = |label: &str| OrderedLock {
        label: label.to_owned(),
        file: format!("src/{label}.rs"),
        line: 1,
    };
    let edge = OrderEdge {
        before: label(before),
        after: label(after),
        inverted: false,
        allowed: None,
    };
    let [before, after] = [before, after].map(|label| &*label.to_owned().leak());
    ((before, after), edge)
}

/// Makes a graph with these edges.
pub(super) fn graph(texts: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for text in texts {
        let (key, edge) = edge(text);
        graph.insert(key, edge);
    }
    graph
}

fn order(allowed: &[[&str; 2]]) -> LockOrder {
    let allowed = allowed.iter().map(|pair| pair.map(str::to_owned).into());
    LockOrder::new(u64::MAX, allowed.collect())
}

/// Adds an edge as a nested call does. Returns the text of the warning.
fn learn(order: &LockOrder, before: &'static str, after: &'static str) -> Option<String> {
    let meta = "host 7 orders%20at%20src/orders.rs%3A41";
    let graph = &mut lock(&order.state).0;
    let cycle = order.add(graph, (before, meta), (after, meta))?;
    Some(text(&cycle))
}

#[test]
fn an_edge_has_the_places_that_the_callers_name() {
    let order = order(&[]);
    learn(&order, "a", "b");
    learn(&order, "a", "b");
    let edges = order.edges();
    assert_eq!(edges.len(), 1);
    let edge = &edges[0];
    assert_eq!((&*edge.before.label, &*edge.after.label), ("a", "b"));
    assert_eq!((&*edge.after.file, edge.after.line), ("src/orders.rs", 41));
    assert!(!edge.inverted && edge.allowed.is_none());
}

#[test]
fn each_cycle_is_warned_about_once() {
    let order = order(&[]);
    assert_eq!(learn(&order, "a", "b"), None);
    assert_eq!(learn(&order, "b", "c"), None);
    let warned = learn(&order, "c", "a").unwrap();
    assert_eq!(warned.matches(", then ").count(), 3, "{warned}");
    assert_eq!(learn(&order, "c", "a"), None);
    assert_eq!(learn(&order, "x", "a"), None);
    let warned = learn(&order, "b", "a").unwrap();
    assert_eq!(warned.matches(", then ").count(), 2, "{warned}");
}

#[test]
fn an_order_that_the_configuration_allows_contradicts_no_other() {
    for (allows, cycles) in [(["b", "a"], 0), (["a", "b"], 0), (["x", "y"], 1)] {
        let order = order(&[allows]);
        let warned = [learn(&order, "a", "b"), learn(&order, "b", "a")];
        assert_eq!(warned.iter().flatten().count(), cycles, "{allows:?}");
        assert_eq!(order.cycles().len(), cycles, "{allows:?}");
        let edges = order.edges();
        let marked = edges.iter().filter(|edge| edge.allowed.is_some());
        assert_eq!(marked.count(), 1 - cycles, "{allows:?}");
    }
}

#[test]
fn the_number_of_edges_has_a_limit() {
    let order = order(&[]);
    for number in 0..MOST + 9 {
        learn(&order, number.to_string().leak(), "x");
    }
    assert_eq!(order.edges().len(), MOST);
}

#[test]
fn a_report_names_both_places() {
    let graph = graph(&["a b", "b a", "c c"]);
    let cycles = graph.cycles();
    let texts: Vec<_> = cycles.iter().map(|cycle| text(cycle)).collect();
    assert_eq!(
        texts,
        [
            "`c` (src/c.rs:1), then `c` (src/c.rs:1): the same label twice, with other keys: take them together with \
             `keys = [..]`",
            "`a` (src/a.rs:1), then `b` (src/b.rs:1); `b` (src/b.rs:1), then `a` (src/a.rs:1)",
        ]
    );
}
