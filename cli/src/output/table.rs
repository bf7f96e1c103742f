//! Tables for people: columns without borders, as in `ps` and `kubectl`.

use std::io::Write;

use ratatui::text::Span;

use super::may_color;
use crate::exit::Failure;

/// Writes a table. No line ends with spaces.
pub(crate) fn write<const N: usize>(
    out: &mut impl Write,
    headings: [&str; N],
    rows: &[[String; N]],
    indent: &str,
) -> Result<(), Failure> {
    let mut widths = headings.map(width);
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    let line = |cells: &[String; N]| {
        let mut line = String::new();
        for (cell, widest) in cells.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', widest - width(cell) + 2));
        }
        line.truncate(line.trim_end().len());
        line
    };
    let head = line(&headings.map(str::to_owned));
    match may_color() {
        true => writeln!(out, "{indent}\x1b[1m{head}\x1b[0m")?,
        false => writeln!(out, "{indent}{head}")?,
    }
    for row in rows {
        writeln!(out, "{indent}{}", line(row))?;
    }
    Ok(())
}

/// How many terminal columns the text takes.
fn width(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        let mut out = Vec::new();
        let rows =
            [["orders:7", "1/1"], ["b", "-"], ["日本", "-"]].map(|row| row.map(str::to_owned));
        write(&mut out, ["NAME", "USED"], &rows, "  ").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "  NAME      USED\n  orders:7  1/1\n  b         -\n  日本      -\n"
        );
    }
}
