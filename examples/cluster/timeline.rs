//! The timeline: a row per worker, a character per slice of time.

use std::time::Duration;

use crate::history::{History, State};
use crate::plan::WORKERS;

/// With the label and a margin, a row fits into 80 columns.
const WIDTH: usize = 68;

/// The characters of the states.
#[derive(Clone, Copy)]
pub(crate) struct Glyphs {
    inside: &'static str,
    waits: &'static str,
    killed: &'static str,
}

impl Glyphs {
    /// Returns block characters if the locale is UTF-8, otherwise ASCII.
    pub(crate) fn pick() -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(|variable| std::env::var(variable).ok())
            .find(|value| !value.is_empty())
            .unwrap_or_default()
            .to_uppercase();
        if locale.contains("UTF-8") || locale.contains("UTF8") {
            Self {
                inside: "█",
                waits: "·",
                killed: "✗",
            }
        } else {
            Self {
                inside: "#",
                waits: ".",
                killed: "x",
            }
        }
    }
}

/// Colours a text, or leaves it unchanged.
pub(crate) type Paint = fn(State, &str) -> String;

/// Colours for a terminal.
pub(crate) fn coloured(state: State, text: &str) -> String {
    let colour = match state {
        State::Inside(..) => 32,
        State::Waits(_) => 33,
        State::Killed => 31,
        State::Away => return text.to_owned(),
    };
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// No colours, for other outputs.
pub(crate) fn plain(_: State, text: &str) -> String {
    text.to_owned()
}

/// Returns the rows and the axis of the first `shown` of `total`.
pub(crate) fn rows(
    history: &History,
    shown: Duration,
    total: Duration,
    glyphs: Glyphs,
    paint: Paint,
) -> Vec<String> {
    let slice = total / WIDTH as u32;
    let row = |worker: usize| {
        let mut row = format!("worker {}  ", worker + 1);
        let mut before = State::Away;
        for cell in 0..WIDTH as u32 {
            // The state in the middle of the slice: so one column never shows two workers inside if one came after the
            // other.
            let middle = slice * cell + slice / 2;
            if middle > shown {
                break;
            }
            let state = history.state(worker, history.start.plus(middle));
            let glyph = match state {
                State::Inside(..) => glyphs.inside,
                State::Waits(_) => glyphs.waits,
                State::Killed if before != State::Killed => glyphs.killed,
                State::Killed | State::Away => " ",
            };
            row.push_str(&paint(state, glyph));
            before = state;
        }
        row.truncate(row.trim_end().len());
        row
    };
    let mut rows: Vec<_> = (0..WORKERS).map(row).collect();
    rows.push(axis(total));
    rows
}

/// Returns the meanings of the characters.
pub(crate) fn legend(history: &History, glyphs: Glyphs) -> String {
    format!(
        "          {} inside   {} waits   {} {}",
        glyphs.inside,
        glyphs.waits,
        glyphs.killed,
        history.fate.word()
    )
}

/// A mark every two seconds, or further apart where they would collide.
fn axis(total: Duration) -> String {
    let mut axis = " ".repeat(10);
    let step = match total.as_secs() {
        0..20 => 2,
        20..60 => 10,
        _ => 30,
    };
    for second in (0..=total.as_secs()).step_by(step) {
        let column = 10 + (second as f64 / total.as_secs_f64() * WIDTH as f64) as usize;
        let label = format!("{second} s");
        if column + label.len() <= 80 {
            axis.push_str(&" ".repeat(column.saturating_sub(axis.len())));
            axis.push_str(&label);
        }
    }
    axis
}
