//! Tests of `order`, which shows the graph of the lock order and marks inverted edges.

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::redis::Redis;

use super::rig::{document, output, text, written};
use super::schema::fits;

fn client(url: &str, namespace: Option<&str>) -> Client {
    let mut config = Config::new(url).expect("a good URL").lease(LONG);
    if let Some(namespace) = namespace {
        config = config.namespace(namespace);
    }
    Client::connect(config.restart_guard(false).connect_timeout("60s")).expect("a client")
}

fn nest(client: &Client, outer: &'static str, inner: &'static str) {
    let [outer, inner] = [outer, inner].map(|class| client.mutex(class).metrics_label(class));
    let nested = outer.blocking_synchronize(|_| inner.blocking_synchronize(|_| ()));
    nested.expect("the outer lock").expect("the inner lock");
}

/// Waits until the store has `count` edges.
#[track_caller]
fn has_edges(url: &str, count: usize) {
    let operator = auto_mutex::operator::Operator::connect(url).expect("an operator");
    eventually("the store has the edges", || {
        operator.lock_order().expect("an answer").len() == count
    });
}

#[test]
fn a_store_without_nested_calls_has_no_order() {
    let redis = Redis::start();
    let out = written(&redis.url(), &["order"], 0);
    assert_eq!(out, "No call has asked for a lock inside another one.\n");
    fits("order", &document(&redis.url(), &["order"], 0));
}

#[test]
fn opposite_orders_are_marked_and_are_a_finding() {
    let redis = Redis::start();
    let url = redis.url();
    let prod = client(&url, Some("prod"));
    nest(&prod, "a", "b");
    nest(&client(&url, None), "a", "b");
    has_edges(&url, 2);
    let out = written(&url, &["order"], 0);
    assert!(out.starts_with("  HELD") || out.contains("HELD"), "{out}");
    assert!(out.contains(&format!("a ({}:", file!())), "{out}");
    assert!(!out.contains("INVERTED"), "{out}");
    nest(&prod, "b", "a");
    has_edges(&url, 3);

    let out = written(&url, &["order"], 3);
    assert_eq!(out.matches("INVERTED").count(), 2, "{out}");
    let found = document(&url, &["order"], 3);
    fits("order", &found);
    let edges = found["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 3, "{found}");
    let inverted = edges.iter().filter(|edge| edge["inverted"] == true);
    assert!(
        inverted.clone().all(|edge| edge["namespace"] == "prod"),
        "{found}"
    );
    assert_eq!(inverted.count(), 2, "{found}");
    let lines = written(&url, &["order", "-ojsonl"], 3);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    fits(
        "order_line",
        &serde_json::from_str(lines.lines().next().unwrap()).unwrap(),
    );

    // The edges of one namespace.
    let found = document(&url, &["order", "--namespace", "prod"], 3);
    assert_eq!(found["edges"].as_array().unwrap().len(), 2);
    assert_eq!(
        written(&url, &["order", "--namespace", "x"], 0)
            .lines()
            .count(),
        1
    );

    // The graph for Graphviz.
    let dot = written(&url, &["order", "--dot"], 3);
    assert!(
        dot.starts_with("digraph lock_order {") && dot.ends_with("}\n"),
        "{dot}"
    );
    assert_eq!(dot.matches(" -> ").count(), 3, "{dot}");
    assert_eq!(dot.matches("penwidth=2").count(), 2, "{dot}");
    assert_eq!(dot.matches("subgraph").count(), 1, "{dot}");
    let both = output(&url, &["order", "--dot", "-ojson"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
}
