//! Where another Rust library is ahead, and why. Computed from the figures.

use std::fmt::Write as _;

use super::markdown::table;
use super::{name, words};
use crate::peer::Contender;
use crate::report::{Report, number};

/// A library is ahead if its figure is better by more than this share, in the median of the rounds.
const NOTABLE: f64 = 0.05;

/// A figure in which libraries are compared.
struct Compared {
    tables: &'static [&'static str],
    figure: &'static str,
    heading: &'static str,
    group: Group,
    /// Whether a higher figure is better.
    higher: bool,
}

/// Figures with the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    AwaitedRelease,
    Uncontended,
    Contended,
    Handoff,
    Server,
    Bytes,
    Waiting,
    Memory,
}

impl Group {
    const ALL: [Self; 8] = [
        Self::AwaitedRelease,
        Self::Uncontended,
        Self::Contended,
        Self::Handoff,
        Self::Server,
        Self::Bytes,
        Self::Waiting,
        Self::Memory,
    ];
}

const fn lower(
    tables: &'static [&'static str],
    figure: &'static str,
    heading: &'static str,
    group: Group,
) -> Compared {
    Compared {
        tables,
        figure,
        heading,
        group,
        higher: false,
    }
}

const fn higher(
    tables: &'static [&'static str],
    figure: &'static str,
    heading: &'static str,
    group: Group,
) -> Compared {
    Compared {
        higher: true,
        ..lower(tables, figure, heading, group)
    }
}

const ONE_KEY: &[&str] = &["S3", "S4", "S4 1 ms"];
const ALL_TURNS: &[&str] = &["S1", "S2", "S3", "S4", "S4 1 ms", "S5"];
const WAITERS: &[&str] = &["S6"];
const MEMORY: &[&str] = &["S9 memory"];

const COMPARED: &[Compared] = &[
    lower(&["S1"], "cycle_p50_us", "call, p50 µs", Group::Uncontended),
    lower(&["S1", "S2"], "cycle_p99_us", "call, p99 µs", Group::Uncontended),
    higher(&["S2"], "per_second", "calls/s", Group::Uncontended),
    higher(ONE_KEY, "per_second", "calls/s", Group::Contended),
    lower(ONE_KEY, "wait_p99_ms", "wait, p99 ms", Group::Contended),
    lower(ONE_KEY, "wait_max_ms", "longest wait, ms", Group::Contended),
    lower(&["S5"], "handoff_p50_us", "handoff, p50 µs", Group::Handoff),
    lower(&["S5"], "handoff_p99_us", "handoff, p99 µs", Group::Handoff),
    lower(ALL_TURNS, "server_us", "server µs per call", Group::Server),
    lower(ALL_TURNS, "requests", "requests per call", Group::Server),
    lower(ALL_TURNS, "bytes", "bytes per call", Group::Bytes),
    lower(WAITERS, "requests_per_second", "requests/s", Group::Waiting),
    lower(WAITERS, "client_cpu_ms_per_10_s", "client's ms in 10 s", Group::Waiting),
    lower(WAITERS, "connections", "connections", Group::Waiting),
    lower(WAITERS, "bytes_per_waiter", "client's bytes per waiter", Group::Memory),
    lower(WAITERS, "server_bytes_per_waiter", "server's bytes per waiter", Group::Memory),
    lower(MEMORY, "server_bytes_held", "server's bytes per held lock", Group::Memory),
    lower(MEMORY, "server_bytes_idle", "server's bytes per released lock", Group::Memory),
    lower(MEMORY, "client_bytes_held", "client's bytes per held lock", Group::Memory),
];

/// One row of a table: our figure, and that of a library that is ahead.
struct Loss {
    group: Group,
    cells: Vec<String>,
}

pub(super) fn section(report: &Report) -> String {
    let losses = losses(report);
    if losses.is_empty() {
        return words::NO_LOSSES.to_owned();
    }
    let mut text = String::from(words::LOSSES);
    for group in Group::ALL {
        let rows: Vec<_> = losses
            .iter()
            .filter(|loss| loss.group == group)
            .map(|loss| loss.cells.clone())
            .collect();
        if !rows.is_empty() {
            let header = ["where", "figure", "ours", "", "ahead", "", "ours ÷ theirs"];
            let (title, why) = words::why(group);
            let _ = write!(text, "\n### {title}\n\n{why}\n{}", table(&header, &rows));
        }
    }
    text
}

fn losses(report: &Report) -> Vec<Loss> {
    let mut losses = Vec::new();
    for compared in COMPARED {
        for &table in compared.tables {
            let rows = report.rows(table);
            for &(placement, ours) in &rows {
                let Some(our) = Contender::of_label(ours).filter(|who| who.is_ours()) else {
                    continue;
                };
                for &(other, theirs) in &rows {
                    let peer = Contender::of_label(theirs).filter(|who| who.is_peer());
                    // Runtimes with the same number of threads are compared.
                    let Some(peer) = peer.filter(|peer| {
                        other == placement
                            && (peer.threads() == our.threads() || peer.needs_postgres())
                    }) else {
                        continue;
                    };
                    let summary = |who| report.summary(table, placement, who, compared.figure);
                    let (Some(mine), Some(his)) = (summary(ours), summary(theirs)) else {
                        continue;
                    };
                    let ratio = report.ratio(table, placement, ours, theirs, compared.figure);
                    // Without a ratio, theirs is zero.
                    let is_behind = match ratio {
                        Some(ratio) if compared.higher => ratio.median < 1.0 - NOTABLE,
                        Some(ratio) => ratio.median > 1.0 + NOTABLE,
                        None => !compared.higher && mine.median > his.median,
                    };
                    if !is_behind {
                        continue;
                    }
                    let group = match (compared.group, our) {
                        (
                            Group::Uncontended,
                            Contender::AutoMutexAwaited | Contender::AutoMutexLocalAwaited,
                        ) => Group::AwaitedRelease,
                        (group, _) => group,
                    };
                    losses.push(Loss {
                        group,
                        cells: vec![
                            format!("{table}, {}", placement.label()),
                            compared.heading.to_owned(),
                            name(ours),
                            number(mine.median),
                            name(peer.label()),
                            number(his.median),
                            ratio.map_or("–".to_owned(), |ratio| number(ratio.median)),
                        ],
                    });
                }
            }
        }
    }
    losses
}
