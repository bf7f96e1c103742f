//! The three numbers: the same block on the page and in the README.

use super::markdown::{microseconds, table, wrap};
use super::servers;
use crate::peer::Contender::{self, AutoMutex, AutoMutexAwaited, PgAdvisoryLock, Rslock};
use crate::results::{Report, number};
use crate::run::Placement::Split;

/// Returns the table, and where and how it was measured.
pub(super) fn block(report: &Report) -> String {
    let machine = &report.machine;
    let version = |library: &str| {
        let version = machine.libraries.get(library);
        version.map_or(String::new(), |version| format!(" {version}"))
    };
    let header = [
        String::new(),
        "auto-mutex".to_owned(),
        format!("rslock{}", version("rslock")),
        format!("sqlx{} `PgAdvisoryLock`", version("sqlx")),
    ];
    let figure = |table: &str, who: Contender, figure: &str, show: &dyn Fn(f64) -> String| {
        let summary = report.summary(table, Split, who.label(), figure);
        summary.map(|it| show(it.median))
    };
    let row = |what: &str, table: &str, key: &str, show: &dyn Fn(f64) -> String| {
        let ours = figure(table, AutoMutex, key, show);
        let awaited = figure(table, AutoMutexAwaited, key, show);
        let ours = match (ours, awaited) {
            (Some(ours), Some(awaited)) => Some(format!("{ours}; {awaited} with `unlock().await`")),
            (ours, awaited) => ours.or(awaited),
        };
        let others = [Rslock, PgAdvisoryLock].map(|who| figure(table, who, key, show));
        let cells = [ours].into_iter().chain(others);
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
        [what.to_owned()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = vec![
        row("an uncontended call", "S1", "cycle_p50_us", &microseconds),
        row(
            "a handoff between processes",
            "S5",
            "handoff_p50_us",
            &microseconds,
        ),
        row("requests per call", "S1", "requests", &|it| number(it)),
    ];
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let origin = format!(
        "Medians of {} on {} × {}, {}. Server and clients run on different processors. Command: `benches/run --page`.",
        machine.date,
        machine.processors,
        machine.processor,
        servers(report),
    );
    format!("{}\n{}", table(&header, &rows), wrap(&origin))
}
