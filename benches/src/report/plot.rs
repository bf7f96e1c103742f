//! The plot of a table, as SVG. For one figure: a row per contender, a dot at the median, a line from minimum to
//! maximum, on a logarithmic scale.

use super::growth;
use super::svg::{self, OTHERS, OURS, Scale};
use crate::measure::Summary;
use crate::results::{Report, number};
use crate::scenario::{Plot, Table};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 56.0;
const ROW: f64 = 26.0;
const BOTTOM: f64 = 46.0;

/// Returns `None` if the table has no plot, or nothing was measured.
pub(crate) fn plot(report: &Report, table: &Table) -> Option<String> {
    match table.plot {
        Plot::None => None,
        Plot::Figure(figure) => one_figure(report, table, figure),
        Plot::Growth(what) => growth::plot(report, table, what),
    }
}

fn one_figure(report: &Report, table: &Table, figure: &str) -> Option<String> {
    let heading = table
        .columns
        .iter()
        .find(|column| column.key == figure)?
        .heading;
    let heading = match figure {
        "per_second" => format!("{heading} (higher is better)"),
        _ => format!("{heading} (lower is better)"),
    };
    let rows: Vec<(String, bool, Summary)> = report
        .rows(table.name)
        .into_iter()
        .filter_map(|(placement, who)| {
            let summary = report.summary(table.name, placement, who, figure)?;
            let ours = who.contains("auto");
            Some((format!("{who} ({})", placement.label()), ours, summary))
        })
        .collect();
    let scale = Scale::over(rows.iter().map(|(_, _, summary)| summary))?;
    let at = |value: f64| LEFT + scale.share(value) * (WIDTH - RIGHT - LEFT);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut out = svg::begin(WIDTH, bottom + BOTTOM, table.title);
    for tick in scale.ticks() {
        let x = at(tick);
        svg::line(&mut out, (x, TOP - 6.0), (x, bottom), "#ddd", 1);
        svg::text(&mut out, (x, bottom + 16.0), "middle", &number(tick), 11);
    }
    let middle = (f64::midpoint(LEFT, WIDTH - RIGHT), bottom + 36.0);
    svg::text(&mut out, middle, "middle", &heading, 12);
    for (index, (label, ours, summary)) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let color = if *ours { OURS } else { OTHERS };
        let [min, median, max] = [summary.min, summary.median, summary.max].map(at);
        svg::text(&mut out, (LEFT - 12.0, y + 4.0), "end", label, 12);
        svg::line(&mut out, (min, y), (max, y), color, 2);
        svg::dot(&mut out, (median, y), color);
        let found = number(summary.median);
        svg::text(&mut out, (max + 10.0, y + 4.0), "start", &found, 12);
    }
    Some(svg::end(out))
}
