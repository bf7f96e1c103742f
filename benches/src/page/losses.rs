//! Where another library is ahead. Computed from the figures.

use super::markdown::{said_once, table};
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
    /// Whether a higher figure is better.
    higher: bool,
    /// Why another library may be ahead.
    why: &'static str,
}

const fn lower(
    tables: &'static [&'static str],
    figure: &'static str,
    heading: &'static str,
    why: &'static str,
) -> Compared {
    Compared {
        tables,
        figure,
        heading,
        higher: false,
        why,
    }
}

const fn higher(
    tables: &'static [&'static str],
    figure: &'static str,
    heading: &'static str,
    why: &'static str,
) -> Compared {
    Compared {
        higher: true,
        ..lower(tables, figure, heading, why)
    }
}

const ONE_KEY: &[&str] = &["S3", "S4", "S4 1 ms"];
const ALL_TURNS: &[&str] = &["S1", "S2", "S3", "S4", "S4 1 ms", "S5"];
const WAITERS: &[&str] = &["S6"];
const MEMORY: &[&str] = &["S9 memory"];

const COMPARED: &[Compared] = &[
    lower(&["S1"], "cycle_p50_us", "call, p50 µs", words::UNCONTENDED),
    higher(
        &["S2"],
        "per_second",
        "calls/s, many locks",
        words::UNCONTENDED,
    ),
    higher(ONE_KEY, "per_second", "calls/s, one lock", words::CONTENDED),
    lower(ONE_KEY, "wait_max_ms", "longest wait, ms", words::CONTENDED),
    lower(&["S5"], "handoff_p50_us", "handoff, p50 µs", words::HANDOFF),
    lower(&["S5"], "handoff_p99_us", "handoff, p99 µs", words::HANDOFF),
    lower(ALL_TURNS, "server_us", "server µs per call", words::SERVER),
    lower(ALL_TURNS, "bytes", "bytes per call", words::BYTES),
    lower(
        WAITERS,
        "requests_per_second",
        "requests/s, waiting",
        words::WAITING,
    ),
    lower(
        WAITERS,
        "bytes_per_waiter",
        "client's bytes per waiter",
        words::CLIENT,
    ),
    lower(
        MEMORY,
        "server_bytes_held",
        "server's bytes per held lock",
        words::MEMORY,
    ),
    lower(
        MEMORY,
        "server_bytes_idle",
        "server's bytes per released lock",
        words::MEMORY,
    ),
    lower(
        MEMORY,
        "client_bytes_held",
        "client's bytes per held lock",
        words::CLIENT,
    ),
];

/// A comparison in which another library is ahead.
struct Loss {
    /// Our figure divided by theirs, or the inverse where higher is better; infinite if theirs is zero.
    factor: f64,
    cells: [String; 3],
}

/// Returns the table, with one row for each figure: that where the other library is ahead most.
pub(super) fn section(report: &Report) -> String {
    let mut rows = Vec::new();
    for compared in COMPARED {
        let (mut losses, all) = compared.losses(report);
        losses.sort_by(|a, b| b.factor.total_cmp(&a.factor));
        if let Some(worst) = losses.first() {
            let mut row = vec![compared.heading.to_owned()];
            row.extend(worst.cells.clone());
            row.push(format!("{} of {all}", losses.len()));
            row.push(compared.why.to_owned());
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return words::NO_LOSSES.to_owned();
    }
    let header = ["", "worst case", "auto-mutex", "other", "behind in", "why"];
    format!("{}\n{}", words::LOSSES, table(&header, &said_once(rows)))
}

impl Compared {
    /// Returns also the number of comparisons.
    fn losses(&self, report: &Report) -> (Vec<Loss>, usize) {
        let (mut losses, mut all) = (Vec::new(), 0);
        for &table in self.tables {
            let rows = report.rows(table);
            for &(placement, who) in &rows {
                let Some(ours) = Contender::of_label(who).filter(|who| who.is_ours()) else {
                    continue;
                };
                for (_, peer) in rows.iter().filter(|(other, _)| *other == placement) {
                    let compared = self.compare(report, (table, placement), ours, peer);
                    all += usize::from(compared.is_some());
                    losses.extend(compared.flatten());
                }
            }
        }
        (losses, all)
    }

    /// Returns `None` if the two cannot be compared, and `Some(None)` if ours is not behind.
    #[expect(clippy::option_option, reason = "compared, and behind")]
    fn compare(
        &self,
        report: &Report,
        (table, placement): (&str, Placement),
        ours: Contender,
        peer: &str,
    ) -> Option<Option<Loss>> {
        let who = Contender::of_label(peer).filter(|who| who.is_peer())?;
        // Rust's runtimes are compared if they have the same number of threads.
        if who.threads() != ours.threads() && !who.needs_postgres() {
            return None;
        }
        // They are the same on one and on two processors.
        if self.figure == "bytes" && placement != Placement::Split {
            return None;
        }
        let summary = |who: &str| report.summary(table, placement, who, self.figure);
        let (own, theirs) = (summary(ours.label())?.median, summary(peer)?.median);
        let ratio = report.ratio(table, placement, ours.label(), peer, self.figure);
        // There is no ratio to zero. On a busy machine, the median of the ratios may contradict the medians.
        let (factor, is_behind) = match ratio.map(|ratio| ratio.median) {
            None => (f64::INFINITY, !self.higher && own > theirs),
            Some(ratio) if self.higher => (1.0 / ratio, ratio < 1.0 - NOTABLE && own < theirs),
            Some(ratio) => (ratio, ratio > 1.0 + NOTABLE && own > theirs),
        };
        Some(is_behind.then(|| Loss {
            factor,
            cells: [
                format!("{table} {}, {}", placement.label(), name(ours.label())),
                number(own),
                format!("{} {}", name(peer), number(theirs)),
            ],
        }))
    }
}
