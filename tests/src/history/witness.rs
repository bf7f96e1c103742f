//! Shortens a history that no order explains, and describes it.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};

use super::{Lock, Span, Specification, Step, Violation, check};

/// Reduces a lock's history to a small part that shows the fault, by leaving out whole holds while no order explains
/// the rest. (A correct history stays correct without one of its holds, so if the rest is wrong, the whole is, too.)
pub fn minimal(lock: &Lock, history: &[Span<Step>]) -> Vec<Span<Step>> {
    let mut rest = history.to_vec();
    let holds: BTreeSet<_> = rest.iter().map(|span| span.op.hold()).collect();
    let mut holds: Vec<_> = holds.into_iter().collect();
    let mut size = holds.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < holds.len() {
            let out: BTreeSet<_> = holds[at..].iter().take(size).copied().collect();
            let left = rest.iter().filter(|span| !out.contains(&span.op.hold()));
            let left: Vec<_> = left.cloned().collect();
            if check(lock, &left).is_err() {
                rest = left;
                holds.drain(at..(at + size).min(holds.len()));
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    rest
}

/// The end of the longest order found, and the operations that could not come next. Times are in microseconds from the
/// earliest one shown.
pub fn shown<S: Specification>(history: &[Span<S::Op>], violation: &Violation) -> String {
    const LAST: usize = 6;
    let (order, stuck) = (&violation.order, &violation.stuck);
    let tail = &order[order.len().saturating_sub(LAST)..];
    let start = tail.iter().chain(stuck).map(|index| history[*index].from);
    let start = start.min().unwrap_or_default();
    let mut text = String::new();
    let mut list = |title: &str, indices: &[usize]| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title}");
        for index in indices {
            let _ = writeln!(text, "  {}", line(&history[*index], start));
        }
    };
    let skipped = order.len() - tail.len();
    list(
        &format!("in order, behind {skipped} that are not shown:"),
        tail,
    );
    list("and then none of these can come:", stuck);
    let rest: Vec<_> = (0..history.len())
        .filter(|index| !order.contains(index) && !stuck.contains(index))
        .collect();
    if (1..=LAST).contains(&rest.len()) {
        list("for what is left begins later:", &rest);
    }
    text
}

fn line<O: Debug>(span: &Span<O>, start: u64) -> String {
    let micros = |at: u64| at.saturating_sub(start) / 1000;
    let until = match span.to {
        Some(to) => format!("and {} µs", micros(to)),
        None => "any time, or never".to_owned(),
    };
    let (who, op) = (&span.who, &span.op);
    format!("{who} {op:?}, between {} µs {until}", micros(span.from))
}
