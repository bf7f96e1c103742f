//! Draws the timeline as a picture for docs/README.md: `cargo run --example cluster -- --svg docs/timeline.svg`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::clock::Time;
use crate::history::{History, Visit};
use crate::plan::WORKERS;

const WIDTH: f64 = 820.0;
/// Where the first second begins; the names are to the left of it.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const ROW: f64 = 34.0;
const BAR: f64 = 20.0;

const INSIDE: &str = "#2e7d32";
const WAITS: &str = "#f2c14e";
const KILLED: &str = "#c62828";

/// Writes the picture to `file`.
pub(crate) fn write(history: &History, file: &Path) -> io::Result<()> {
    fs::write(file, picture(history))
}

/// Converts points in time to horizontal positions.
struct Scale {
    start: Time,
    total: Duration,
}

impl Scale {
    fn x(&self, at: Time) -> f64 {
        let part = at.since(self.start).as_secs_f64() / self.total.as_secs_f64();
        LEFT + part.min(1.0) * (WIDTH - LEFT - RIGHT)
    }
}

fn picture(history: &History) -> String {
    let bottom = TOP + ROW * WORKERS as f64;
    let height = bottom + 56.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>Three processes take turns; one is {0} inside, and another takes over</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        history.fate.word()
    );
    let scale = Scale {
        start: history.start,
        total: history.length.max(Duration::from_millis(1)),
    };
    axis(&mut svg, &scale, bottom);
    for worker in 0..WORKERS {
        row(&mut svg, history, &scale, worker);
    }
    let legend = [
        (INSIDE, "holds the lock"),
        (WAITS, "waits"),
        (KILLED, history.fate.word()),
    ];
    for (number, (colour, text)) in legend.into_iter().enumerate() {
        let x = LEFT + 150.0 * number as f64;
        bar(&mut svg, x, x + 14.0, bottom + 30.0, 14.0, colour);
        label(&mut svg, x + 20.0, bottom + 42.0, "start", text);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A line for every second, and a number for every second one.
fn axis(svg: &mut String, scale: &Scale, bottom: f64) {
    for second in 0..=scale.total.as_secs() {
        let x = scale.x(scale.start.plus(Duration::from_secs(second)));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>"
        );
        if second % 2 == 0 {
            label(svg, x, bottom + 16.0, "middle", &format!("{second} s"));
        }
    }
}

fn row(svg: &mut String, history: &History, scale: &Scale, worker: usize) {
    let top = TOP + ROW * worker as f64 + (ROW - BAR) / 2.0;
    let name = format!("process {}", worker + 1);
    label(svg, LEFT - 12.0, top + BAR - 5.0, "end", &name);
    let killed = history.kill.as_ref().filter(|kill| kill.worker == worker);
    let end = killed.map_or(history.start.plus(history.length), |kill| kill.when.at);
    for visit in &history.workers[worker].visits {
        let Visit {
            called,
            entered,
            left,
            ..
        } = *visit;
        let (entered, left) = (
            entered.unwrap_or(end).min(end),
            left.unwrap_or(end).min(end),
        );
        let (waits, inside) = (scale.x(called), scale.x(entered));
        bar(svg, waits, inside, top + 6.0, BAR - 12.0, WAITS);
        bar(svg, inside, scale.x(left), top, BAR, INSIDE);
    }
    if killed.is_some() {
        let (x, y) = (scale.x(end), top + BAR / 2.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{0:.1} {1:.1}l16 16m0 -16l-16 16\" stroke=\"{KILLED}\" stroke-width=\"4\"/>",
            x - 8.0,
            y - 8.0
        );
    }
}

fn bar(svg: &mut String, from: f64, to: f64, top: f64, height: f64, colour: &str) {
    if to > from {
        let _ = writeln!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height}\" fill=\"{colour}\"/>",
            to - from
        );
    }
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}
