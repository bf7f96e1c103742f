//! The samples as an SVG picture: one strip per figure, over time.

use std::fmt::Write as _;

use super::sample::Sample;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const STRIP: f64 = 110.0;
const GAP: f64 = 38.0;

type Figure = (&'static str, fn(&Sample) -> f64);

const FIGURES: [Figure; 7] = [
    ("resident memory of the clients, all together (MiB)", |it| {
        it.clients / 1024.0
    }),
    ("resident memory of the server (MiB)", |it| {
        it.server / 1024.0
    }),
    ("memory that the server uses (KiB)", |it| it.used),
    ("keys", |it| it.keys),
    ("connections", |it| it.connections),
    (
        "how much later than planned a renewal was seen (ms)",
        |it| it.late,
    ),
    ("for how long the machine stood still (ms)", |it| it.stall),
];

pub(crate) fn plot(samples: &[Sample]) -> String {
    let height = GAP + FIGURES.len() as f64 * (STRIP + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let end = samples.last().map_or(1.0, |last| last.at.as_secs_f64());
    let minutes = (end / 60.0).ceil();
    for (index, (title, figure)) in FIGURES.iter().enumerate() {
        let top = GAP + index as f64 * (STRIP + GAP);
        let most = samples.iter().map(figure).fold(0.0, f64::max) * 1.1;
        let most = if most > 0.0 { most } else { 1.0 };
        text(&mut svg, LEFT, top - 8.0, "start", title);
        for part in [0.0, 0.5, 1.0] {
            let y = top + STRIP * (1.0 - part);
            line(&mut svg, (LEFT, y), (WIDTH - RIGHT, y));
            let value = most * part;
            let digits = usize::from(most < 10.0);
            text(
                &mut svg,
                LEFT - 6.0,
                y + 4.0,
                "end",
                &format!("{value:.digits$}"),
            );
        }
        let x = |seconds: f64| LEFT + seconds / (minutes * 60.0) * (WIDTH - LEFT - RIGHT);
        for tick in 0..=4 {
            let minute = minutes * f64::from(tick) / 4.0;
            let label = format!("{minute:.0} min");
            text(
                &mut svg,
                x(minute * 60.0),
                top + STRIP + 14.0,
                "middle",
                &label,
            );
        }
        let points: Vec<String> = samples
            .iter()
            .map(|sample| {
                let y = top + STRIP * (1.0 - figure(sample) / most);
                format!("{:.1},{y:.1}", x(sample.at.as_secs_f64()))
            })
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#0b6e4f\" stroke-width=\"1.5\"/>",
            points.join(" ")
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\"/>"
    );
}
