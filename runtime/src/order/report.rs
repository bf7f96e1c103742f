//! Texts about circles: for the log, and for users' tests.

use std::borrow::Borrow;

use super::OrderEdge;
use crate::observe::ORDER;
use crate::wait;

/// The edges of a circle, with their places.
pub(super) fn text(circle: &[impl Borrow<OrderEdge>]) -> String {
    let edges: Vec<_> = circle
        .iter()
        .map(|edge| edge.borrow().to_string())
        .collect();
    let mut text = edges.join("; ");
    if circle.len() == 1 {
        text.push_str(
            ": the same class twice, with other keys: take them together with `keys = [..]`",
        );
    }
    text
}

/// Logs a circle. Call this while no mutex is locked.
pub(super) fn warn(circle: Vec<OrderEdge>) {
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
