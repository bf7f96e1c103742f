//! How a cost grows with a number, as an SVG plot: a line for each row of a table, on logarithmic scales.

use std::fmt::Write as _;

use super::svg::{self, OTHERS, OURS};
use crate::measure::Summary;
use crate::results::{Report, number};
use crate::scenario::Table;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 290.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 50.0;
/// The least distance of the labels of two lines.
const LABEL: f64 = 15.0;
/// Lines of the same color differ in their dashes.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

struct Line<'a> {
    label: &'a str,
    ours: bool,
    /// Each size, and the median.
    points: Vec<(f64, f64)>,
}

/// Returns `None` if nothing was measured. `what` is what the sizes count.
pub(super) fn plot(report: &Report, table: &Table, what: &str) -> Option<String> {
    let sizes = table.columns.iter();
    let sizes: Vec<(&str, f64)> = sizes
        .filter_map(|column| Some((column.key, column.key.parse().ok()?)))
        .collect();
    let lines: Vec<Line<'_>> = report
        .rows(table.name)
        .into_iter()
        .map(|(placement, label)| {
            let point = |(key, size): &(&str, f64)| {
                let found = report.summary(table.name, placement, label, key)?;
                Some((*size, found.median)).filter(|(_, value)| *value > 0.0)
            };
            Line {
                label,
                ours: label.contains("auto"),
                points: sizes.iter().filter_map(point).collect(),
            }
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let all = || lines.iter().flat_map(|line| &line.points);
    let over = |values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<_> = values.filter_map(|it| Summary::of([it])).collect();
        svg::Scale::over(values.iter())
    };
    let across = over(&mut all().map(|(size, _)| *size))?;
    let up = over(&mut all().map(|(_, value)| *value))?;
    let x = |size: f64| LEFT + across.share(size) * (WIDTH - RIGHT - LEFT);
    let y = |value: f64| HEIGHT - BOTTOM - up.share(value) * (HEIGHT - BOTTOM - TOP);

    let mut out = svg::begin(WIDTH, HEIGHT, table.title);
    for tick in across.ticks() {
        svg::line(
            &mut out,
            (x(tick), TOP),
            (x(tick), HEIGHT - BOTTOM),
            "#ddd",
            1,
        );
        let (at, label) = ((x(tick), HEIGHT - BOTTOM + 16.0), format!("{tick}"));
        svg::text(&mut out, at, "middle", &label, 11);
    }
    for tick in up.ticks() {
        svg::line(
            &mut out,
            (LEFT, y(tick)),
            (WIDTH - RIGHT, y(tick)),
            "#ddd",
            1,
        );
        let at = (LEFT - 8.0, y(tick) + 4.0);
        svg::text(&mut out, at, "end", &number(tick), 11);
    }
    let middle = (f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 12.0);
    svg::text(
        &mut out,
        middle,
        "middle",
        &format!("{what} (lower is better)"),
        12,
    );
    let ends: Vec<f64> = lines
        .iter()
        .map(|line| line.points.last().map_or(0.0, |(_, value)| y(*value)))
        .collect();
    let labels = apart(&ends);
    let mut drawn = [0; 2];
    for (line, label) in lines.iter().zip(labels) {
        let color = if line.ours { OURS } else { OTHERS };
        let dash = DASHES[drawn[usize::from(line.ours)] % DASHES.len()];
        drawn[usize::from(line.ours)] += 1;
        let points = line
            .points
            .iter()
            .map(|(size, value)| (x(*size), y(*value)));
        let path: Vec<_> = points
            .clone()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            path.join(" ")
        );
        for at in points {
            svg::dot(&mut out, at, color);
        }
        let end = line.points.last().map_or(LEFT, |(size, _)| x(*size));
        svg::text(&mut out, (end + 10.0, label + 4.0), "start", line.label, 12);
    }
    Some(svg::end(out))
}

/// Moves labels apart that would cover each other, and returns their places in the same order.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    for pair in 1..order.len() {
        let before = places[order[pair - 1]];
        let place = &mut places[order[pair]];
        *place = place.max(before + LABEL);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{LABEL, apart};

    #[test]
    fn labels_keep_their_order_and_their_distance() {
        let places = apart(&[100.0, 50.0, 52.0]);
        assert_eq!(places, [100.0, 50.0, 50.0 + LABEL]);
    }
}
