//! One figure of a table as an SVG plot: a row per contender, a dot at the median, a line from minimum to maximum,
//! on a logarithmic scale.

use std::fmt::Write as _;

use crate::measure::Summary;
use crate::results::{Report, number};
use crate::scenario::Table;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 56.0;
const ROW: f64 = 26.0;
const BOTTOM: f64 = 46.0;

/// Returns `None` if nothing was measured.
pub(crate) fn plot(report: &Report, table: &Table) -> Option<String> {
    let figure = table.plot?;
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
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, 12.0, 24.0, "start", table.title, 15);
    let bottom = TOP + ROW * rows.len() as f64;
    for tick in scale.ticks() {
        let x = scale.at(tick);
        line(&mut svg, (x, TOP - 6.0), (x, bottom), "#ddd", 1);
        text(&mut svg, x, bottom + 16.0, "middle", &number(tick), 11);
    }
    text(
        &mut svg,
        f64::midpoint(LEFT, WIDTH - RIGHT),
        bottom + 36.0,
        "middle",
        &heading,
        12,
    );
    for (index, (label, ours, summary)) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let color = if *ours { "#0b6e4f" } else { "#8a4f00" };
        let [min, median, max] = [summary.min, summary.median, summary.max].map(|it| scale.at(it));
        text(&mut svg, LEFT - 12.0, y + 4.0, "end", label, 12);
        line(&mut svg, (min, y), (max, y), color, 2);
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<circle cx=\"{median:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/>"
        );
        text(
            &mut svg,
            max + 10.0,
            y + 4.0,
            "start",
            &number(summary.median),
            12,
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// A logarithmic scale, in decades.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn over<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for summary in summaries.filter(|summary| summary.min > 0.0) {
            low = low.min(summary.min.log10().floor());
            high = high.max(summary.max.log10().ceil());
        }
        low.is_finite().then(|| Self {
            low,
            high: high.max(low + 1.0),
        })
    }

    /// Zero is at the left end: a logarithmic scale has no place for it.
    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        let share = share.max(0.0);
        LEFT + share * (WIDTH - RIGHT - LEFT)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let decades = self.low as i32..=self.high as i32;
        decades.map(|decade| 10_f64.powi(decade))
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str, size: u32) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>"
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), color: &str, width: u32) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
    );
}
