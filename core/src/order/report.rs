//! Texts about circles: for the log, and for users' tests.

use super::circle;
use super::graph::{Graph, Key};
use crate::observe::ORDER;
use crate::wait;

/// A circle to warn about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) text: String,
    /// Whether the circle has only one class.
    pub(super) is_one_class: bool,
}

/// The edges of a circle, with their places and programs.
pub(super) fn text(circle: &[Key], graph: &Graph) -> String {
    let edges = circle.iter().filter_map(|key| {
        let edge = graph.get(key)?;
        let [before, after] = edge.classes(key);
        Some(format!("{before}, then {after}, by {}", edge.program()))
    });
    let mut text = edges.collect::<Vec<_>>().join("; ");
    if circle.len() == 1 {
        text.push_str(
            ": the same class twice, with other keys: take them together with `keys = [..]`",
        );
    }
    text
}

impl Graph {
    /// A report for each circle, shortest circles first.
    pub(crate) fn circles(&self) -> Vec<String> {
        let circles = circle::all(self);
        let reports = circles.iter().map(|keys| text(keys, self));
        reports.collect()
    }
}

/// Logs these circles. Call this while no mutex is locked.
pub(super) fn warn(reports: Vec<Report>) {
    for Report { text, is_one_class } in reports {
        wait::tell(move || match is_one_class {
            true => tracing::warn!(
                target: ORDER,
                order = text,
                "a call takes a lock inside another one of the same class: two such calls may wait for each other for ever"
            ),
            false => tracing::warn!(
                target: ORDER,
                order = text,
                "locks are taken in opposite orders: calls may wait for each other for ever"
            ),
        });
    }
}

/// Panics if there are `circles`. The text has each circle once, even if several clients have reported it.
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
