//! Where another library is ahead, and why. Computed from the figures.

use std::fmt::Write as _;

use super::markdown::table;
use super::{name, words};
use crate::peer::Contender;
use crate::results::{Report, number};
use crate::run::Placement;

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
    lower(
        &["S1", "S2"],
        "cycle_p99_us",
        "call, p99 µs",
        Group::Uncontended,
    ),
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
    lower(
        WAITERS,
        "client_cpu_ms_per_10_s",
        "client's ms in 10 s",
        Group::Waiting,
    ),
    lower(WAITERS, "connections", "connections", Group::Waiting),
    lower(
        WAITERS,
        "bytes_per_waiter",
        "client's bytes per waiter",
        Group::Memory,
    ),
    lower(
        WAITERS,
        "server_bytes_per_waiter",
        "server's bytes per waiter",
        Group::Memory,
    ),
    lower(
        MEMORY,
        "server_bytes_held",
        "server's bytes per held lock",
        Group::Memory,
    ),
    lower(
        MEMORY,
        "server_bytes_idle",
        "server's bytes per released lock",
        Group::Memory,
    ),
    lower(
        MEMORY,
        "client_bytes_held",
        "client's bytes per held lock",
        Group::Memory,
    ),
];

/// One row of a table: our figure, and those of the libraries that are ahead.
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
            let header = [
                "where",
                "figure",
                "auto-mutex",
                "",
                "who is ahead (ours ÷ theirs)",
            ];
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
            for &(placement, who) in &rows {
                let Some(ours) = Contender::of_label(who).filter(|who| who.is_ours()) else {
                    continue;
                };
                let peers = rows.iter().filter(|(other, _)| *other == placement);
                let ahead: Vec<_> = peers
                    .filter_map(|(_, peer)| compared.ahead(report, (table, placement), ours, peer))
                    .collect();
                let own = report.summary(table, placement, who, compared.figure);
                let Some(own) = own.filter(|_| !ahead.is_empty()) else {
                    continue;
                };
                losses.push(Loss {
                    group: compared.group_of(ours),
                    cells: vec![
                        format!("{table}, {}", placement.label()),
                        compared.heading.to_owned(),
                        name(who),
                        number(own.median),
                        ahead.join(", "),
                    ],
                });
            }
        }
    }
    losses
}

impl Compared {
    fn group_of(&self, ours: Contender) -> Group {
        match (self.group, ours) {
            (Group::Uncontended, Contender::AutoMutexAwaited) => Group::AwaitedRelease,
            (group, _) => group,
        }
    }

    /// If `peer` is another library that is ahead, returns its name and figure.
    fn ahead(
        &self,
        report: &Report,
        (table, placement): (&str, Placement),
        ours: Contender,
        peer: &str,
    ) -> Option<String> {
        let who = Contender::of_label(peer).filter(|who| who.is_library() && !who.is_ours())?;
        // Rust's runtimes are compared if they have the same number of threads.
        if who.threads() != ours.threads() && !who.needs_postgres() && !who.is_external() {
            return None;
        }
        // Bytes are the same on one and on two processors, and the list of all libraries would be long.
        if self.group == Group::Bytes && (placement != Placement::Split || who.is_external()) {
            return None;
        }
        let summary = |who: &str| report.summary(table, placement, who, self.figure);
        let (own, theirs) = (summary(ours.label())?, summary(peer)?);
        let Some(ratio) = report.ratio(table, placement, ours.label(), peer, self.figure) else {
            // There is no ratio to zero.
            let is_ahead = !self.higher && own.median > theirs.median;
            return is_ahead.then(|| format!("{} {}", name(peer), number(theirs.median)));
        };
        // The ratio is the median of the rounds. On a busy machine, it may contradict the medians.
        let is_ahead = match self.higher {
            true => ratio.median < 1.0 - NOTABLE && own.median < theirs.median,
            false => ratio.median > 1.0 + NOTABLE && own.median > theirs.median,
        };
        let (theirs, ratio) = (number(theirs.median), number(ratio.median));
        is_ahead.then(|| format!("{} {theirs} ({ratio})", name(peer)))
    }
}
