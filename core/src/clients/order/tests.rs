//! Helpers that build graphs from texts, for the tests of this folder; and tests of the order of a client without a
//! store.

use super::graph::{Key, MOST};
use super::*;

/// An edge, given as the text `before after`.
pub(super) fn edge(text: &str) -> (Key, OrderEdge) {
    let (before, after) = text.split_once(' ').unwrap();
    let class = |class: &str| OrderClass {
        class: class.to_owned(),
        file: format!("src/{class}.rs"),
        line: 1,
    };
    let edge = OrderEdge {
        before: class(before),
        after: class(after),
        inverted: false,
        allowed: None,
    };
    let [before, after] = [before, after].map(|class| &*class.to_owned().leak());
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

/// Adds an edge in the same way as a nested call. Returns the text of the warning.
fn learn(order: &LockOrder, before: &'static str, after: &'static str) -> Option<String> {
    let meta = "host 7 orders%20at%20src/orders.rs%3A41";
    let graph = &mut lock(&order.state).0;
    let circle = order.add(graph, (before, meta), (after, meta))?;
    Some(text(&circle))
}

#[test]
fn an_edge_has_the_places_that_the_callers_name() {
    let order = order(&[]);
    learn(&order, "a", "b");
    learn(&order, "a", "b");
    let edges = order.edges();
    assert_eq!(edges.len(), 1);
    let edge = &edges[0];
    assert_eq!((&*edge.before.class, &*edge.after.class), ("a", "b"));
    assert_eq!((&*edge.after.file, edge.after.line), ("src/orders.rs", 41));
    assert!(!edge.inverted && edge.allowed.is_none());
}

#[test]
fn each_circle_is_warned_about_once() {
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
    for (allows, circles) in [(["b", "a"], 0), (["a", "b"], 0), (["x", "y"], 1)] {
        let order = order(&[allows]);
        let warned = [learn(&order, "a", "b"), learn(&order, "b", "a")];
        assert_eq!(warned.iter().flatten().count(), circles, "{allows:?}");
        assert_eq!(order.circles().len(), circles, "{allows:?}");
        let edges = order.edges();
        let marked = edges.iter().filter(|edge| edge.allowed.is_some());
        assert_eq!(marked.count(), 1 - circles, "{allows:?}");
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
    let circles = graph.circles();
    let texts: Vec<_> = circles.iter().map(|circle| text(circle)).collect();
    assert_eq!(
        texts,
        [
            "`c` (src/c.rs:1), then `c` (src/c.rs:1): the same class twice, with other keys: take them together with \
             `keys = [..]`",
            "`a` (src/a.rs:1), then `b` (src/b.rs:1); `b` (src/b.rs:1), then `a` (src/a.rs:1)",
        ]
    );
}
