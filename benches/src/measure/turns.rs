//! Computes figures from the records of a contest.

use std::collections::BTreeMap;

use super::record::Record;
use super::{jain, overlaps, percentile};
use crate::clock::{MILLISECOND, SECOND};
use crate::worker::talk::Span;

/// Named figures of one repetition.
pub(crate) type Values = BTreeMap<String, f64>;

/// The records of each task of each process.
pub(crate) type Processes = Vec<Vec<Vec<Record>>>;

const MICROSECOND: f64 = 1_000.0;

/// Turns that began in `span`.
fn inside(records: &[Record], span: Span) -> impl Iterator<Item = &Record> {
    records
        .iter()
        .filter(move |record| record.asked >= span.start && record.asked < span.until)
}

/// Computes speed, waiting times, fairness and exclusion. `span` excludes the warm-up at the beginning.
pub(crate) fn turns(processes: &Processes, span: Span, capacity: u64) -> Values {
    let tasks: Vec<&Vec<Record>> = processes.iter().flatten().collect();
    let seconds = (span.until - span.start) as f64 / SECOND as f64;
    let counts: Vec<f64> = tasks
        .iter()
        .map(|records| inside(records, span).count() as f64)
        .collect();
    let of_processes: Vec<f64> = processes
        .iter()
        .map(|tasks| {
            tasks
                .iter()
                .map(|task| inside(task, span).count())
                .sum::<usize>() as f64
        })
        .collect();
    let mut cycles = Vec::new();
    let mut waits = Vec::new();
    for records in &tasks {
        let records: Vec<_> = inside(records, span).collect();
        cycles.extend(records.windows(2).map(|pair| pair[1].asked - pair[0].asked));
        waits.extend(records.iter().map(|record| record.entered - record.asked));
    }
    cycles.sort_unstable();
    waits.sort_unstable();
    let all: Vec<Record> = tasks
        .iter()
        .flat_map(|records| records.iter().copied())
        .collect();
    let wait_p50 = percentile(&waits, 0.5) as f64;
    let wait_max = percentile(&waits, 1.0) as f64;
    let values = [
        ("per_second", counts.iter().sum::<f64>() / seconds),
        (
            "cycle_p50_us",
            percentile(&cycles, 0.5) as f64 / MICROSECOND,
        ),
        (
            "cycle_p99_us",
            percentile(&cycles, 0.99) as f64 / MICROSECOND,
        ),
        ("wait_p50_us", wait_p50 / MICROSECOND),
        ("wait_p50_ms", wait_p50 / MILLISECOND as f64),
        (
            "wait_p99_ms",
            percentile(&waits, 0.99) as f64 / MILLISECOND as f64,
        ),
        ("wait_max_ms", wait_max / MILLISECOND as f64),
        ("wait_max_per_p50", wait_max / wait_p50.max(1.0)),
        ("jain_tasks", jain(&counts)),
        ("jain_processes", jain(&of_processes)),
        ("overlaps", overlaps(&all, capacity) as f64),
    ];
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Computes the times from when a task of one process leaves its body to when a task of another process enters.
pub(crate) fn handoffs(processes: &Processes, span: Span) -> Values {
    let mut turns: Vec<(usize, Record)> = Vec::new();
    for (process, tasks) in processes.iter().enumerate() {
        let records = tasks.iter().flat_map(|task| inside(task, span));
        turns.extend(records.map(|record| (process, *record)));
    }
    turns.sort_unstable_by_key(|(_, record)| record.entered);
    let mut handoffs = Vec::new();
    let mut releases = Vec::new();
    for pair in turns.windows(2) {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        // A handoff counts only if the next task already waited when the lock was released.
        if from != to && after.asked < before.left {
            handoffs.push(after.entered.saturating_sub(before.left));
            releases.push(before.done - before.left);
        }
    }
    if handoffs.is_empty() {
        return [("handoffs".to_owned(), 0.0)].into();
    }
    handoffs.sort_unstable();
    releases.sort_unstable();
    let (handoff, release) = (
        percentile(&handoffs, 0.5) as f64,
        percentile(&releases, 0.5) as f64,
    );
    let values = [
        ("handoffs", handoffs.len() as f64),
        ("handoff_p50_us", handoff / MICROSECOND),
        (
            "handoff_p99_us",
            percentile(&handoffs, 0.99) as f64 / MICROSECOND,
        ),
        ("release_p50_us", release / MICROSECOND),
        ("handoff_per_release", handoff / release.max(1.0)),
    ];
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(asked: u64, entered: u64, left: u64) -> Record {
        Record {
            asked,
            entered,
            left,
            done: left + 10,
            units: 1,
        }
    }

    const SPAN: Span = Span {
        start: 100,
        until: 100 + SECOND,
    };

    #[test]
    fn what_began_before_the_span_is_left_out_but_still_must_not_overlap() {
        let first = vec![turn(0, 1, 300), turn(310, 320, 330), turn(410, 430, 440)];
        let second = vec![turn(150, 200, 210)];
        let values = turns(&vec![vec![first], vec![second]], SPAN, 1);
        assert_eq!(values["per_second"], 3.0);
        assert_eq!(values["overlaps"], 1.0);
        assert_eq!(values["cycle_p50_us"], 0.1);
        assert_eq!(values["wait_max_ms"], 50e-6);
    }

    #[test]
    fn only_a_handoff_to_a_process_that_waited_counts() {
        let first = vec![turn(100, 100, 200), turn(1000, 1000, 1100)];
        let second = vec![turn(150, 230, 300)];
        let values = handoffs(&vec![vec![first], vec![second]], SPAN);
        assert_eq!(values["handoffs"], 1.0);
        assert_eq!(values["handoff_p50_us"], 0.03);
        assert_eq!(values["handoff_per_release"], 3.0);
        let alone = handoffs(&vec![vec![vec![turn(100, 100, 200)]]], SPAN);
        assert!(!alone.contains_key("handoff_p50_us"));
    }
}
