//! Helpers that build graphs from texts, for the tests of this folder; and tests of the order of a client without a
//! store.

use super::*;
use crate::config::Config;

/// Adds an edge, given as the text `before after`.
pub(super) fn add(graph: &mut Graph, text: &str, is_own: bool) -> graph::Key {
    let (before, after) = text.split_once(' ').unwrap();
    let key = graph::key(before, after);
    let place = |class: &str| Place {
        file: format!("src/{class}.rs").into(),
        line: 1,
    };
    let edge = Edge {
        before: place(before),
        after: place(after),
        machine: "host".into(),
        pid: 7,
        package: "books".into(),
        since: SystemTime::UNIX_EPOCH,
        allowed: None,
        is_own,
    };
    graph.insert(key.clone(), edge);
    key
}

/// Makes a graph with these edges, all of another program.
pub(super) fn graph(texts: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for text in texts {
        add(&mut graph, text, false);
    }
    graph
}

/// Marks an edge as allowed.
pub(super) fn allowed(graph: &mut Graph, text: &str) {
    let (before, after) = text.split_once(' ').unwrap();
    let key = graph::key(before, after);
    let edge = graph.get(&key).unwrap().clone();
    let allowed = Some("meant".into());
    graph.insert(key, Edge { allowed, ..edge });
}

fn order(config: Config) -> LockOrder {
    let settings = config.validate().unwrap();
    LockOrder::new(u64::MAX, &settings, "host", 7)
}

fn memory() -> Config {
    Config::new("memory://").unwrap()
}

/// Adds an edge in the same way as a nested call.
fn learn(order: &LockOrder, before: &'static str, after: &'static str) -> bool {
    let mut state = lock(&order.state);
    let meta = "host 7 orders%20at%20src/orders.rs%3A41";
    order.add(&mut state, (before, meta), (after, meta))
}

#[test]
fn an_edge_has_the_places_that_the_callers_name() {
    let order = order(memory().namespace("prod"));
    assert!(learn(&order, "a", "b"));
    assert!(!learn(&order, "a", "b"));
    let edges = order.edges();
    assert_eq!(edges.len(), 1);
    let edge = &edges[0];
    assert_eq!((&*edge.before.class, &*edge.after.class), ("a", "b"));
    assert_eq!((&*edge.after.file, edge.after.line), ("src/orders.rs", 41));
    assert_eq!((&*edge.program.host, edge.program.pid), ("host", 7));
    assert_eq!(edge.namespace.as_deref(), Some("prod"));
    assert!(!edge.inverted && edge.allowed.is_none());
}

#[test]
fn an_order_that_the_configuration_allows_contradicts_no_other() {
    for (allows, circles) in [(["b", "a"], 0), (["a", "b"], 0), (["x", "y"], 1)] {
        let order = order(memory().allow_order(allows[0], allows[1]));
        assert!(learn(&order, "a", "b") && learn(&order, "b", "a"));
        assert_eq!(order.circles().len(), circles, "{allows:?}");
        let marked = order
            .edges()
            .iter()
            .filter(|edge| edge.allowed.is_some())
            .count();
        assert_eq!(marked, 1 - circles, "{allows:?}");
    }
}

#[test]
fn no_more_edges_are_kept_than_the_store_keeps() {
    let order = order(memory());
    let classes: Vec<&'static str> = (0..MOST + 9).map(|n| &*n.to_string().leak()).collect();
    let kept = classes
        .iter()
        .filter(|class| learn(&order, class, "x"))
        .count();
    assert_eq!(kept, MOST);
}

#[test]
fn a_report_names_both_places_and_both_programs() {
    let graph = graph(&["a b", "b a", "c c"]);
    let circles = graph.circles();
    assert_eq!(
        circles,
        [
            "`c` (src/c.rs:1), then `c` (src/c.rs:1), by books (pid 7 on host): the same class twice, with other keys: \
             take them together with `keys = [..]`",
            "`a` (src/a.rs:1), then `b` (src/b.rs:1), by books (pid 7 on host); `b` (src/b.rs:1), then `a` (src/a.rs:1), \
             by books (pid 7 on host)",
        ]
    );
}
