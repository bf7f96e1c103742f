//! Tables, cells and paragraphs.

use crate::measure::Summary;
use crate::results::number;

const WIDTH: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Median,
    /// With the minimum and the maximum of the rounds.
    Range,
}

pub(super) fn cell(summary: Option<Summary>, kind: Cell) -> String {
    let Some(Summary { median, min, max }) = summary else {
        return "–".to_owned();
    };
    if kind == Cell::Median || number(min) == number(max) {
        return number(median);
    }
    format!("{} ({}–{})", number(median), number(min), number(max))
}

pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}

/// In the last column, a text that is repeated is replaced.
pub(super) fn said_once(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut before = String::new();
    for last in rows.iter_mut().filter_map(|row| row.last_mut()) {
        match *last == before {
            true => "as above".clone_into(last),
            false => before.clone_from(last),
        }
    }
    rows
}

/// Columns of numbers are aligned to the right.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|", header.join(" | "));
    let number = |cell: &String| {
        cell.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '–' | '-'))
    };
    for column in 0..header.len() {
        let numbers = rows.iter().all(|row| row.get(column).is_none_or(number));
        text.push_str(if column > 0 && numbers {
            "---:|"
        } else {
            "---|"
        });
    }
    text.push('\n');
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// Breaks a paragraph into lines.
pub(super) fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// Shows a time with its unit.
pub(super) fn microseconds(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} s", number(value / 1e6)),
        value if value >= 1e3 => format!("{} ms", number(value / 1e3)),
        value => format!("{} µs", number(value)),
    }
}
