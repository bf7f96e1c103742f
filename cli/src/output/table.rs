//! Tables for people: columns without borders, as in `ps` and `kubectl`.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};

use super::may_color;
use crate::exit::Failure;

/// A table with these headings.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings.iter().copied());
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Writes a table. No line ends with spaces.
pub(crate) fn write(out: &mut impl Write, table: &Table, indent: &str) -> Result<(), Failure> {
    for (index, line) in table.to_string().lines().enumerate() {
        let line = line.trim_end();
        match index == 0 && may_color() {
            true => writeln!(out, "{indent}\x1b[1m{line}\x1b[0m")?,
            false => writeln!(out, "{indent}{line}")?,
        }
    }
    Ok(())
}

/// A table that is written row by row, because it may have too many rows to keep in memory. The first rows determine
/// the widths of the columns.
pub(crate) struct Stream<'a, W: Write> {
    out: &'a mut W,
    headings: Vec<String>,
    kept: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl<'a, W: Write> Stream<'a, W> {
    /// The number of rows that are kept before the first row is written.
    const LOOKED_AT: usize = 1000;

    pub(crate) fn new(out: &'a mut W, headings: &[&str]) -> Self {
        Self {
            out,
            headings: headings.iter().map(ToString::to_string).collect(),
            kept: Vec::new(),
            widths: None,
        }
    }

    /// Whether the next call of `row` writes anything.
    pub(crate) fn is_about_to_write(&self) -> bool {
        self.widths.is_some() || self.kept.len() + 1 >= Self::LOOKED_AT
    }

    pub(crate) fn row(&mut self, row: Vec<String>) -> Result<(), Failure> {
        if self.widths.is_some() {
            return self.put(&row, false);
        }
        let is_last = self.is_about_to_write();
        self.kept.push(row);
        match is_last {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Determines the widths of the columns, and writes the headings and the rows that were kept.
    fn settle(&mut self) -> Result<(), Failure> {
        let kept = std::mem::take(&mut self.kept);
        let headings = std::mem::take(&mut self.headings);
        let width = |column: usize| {
            let cells = kept.iter().chain([&headings]).map(|row| &row[column]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        self.widths = Some((0..headings.len()).map(width).collect());
        self.put(&headings, may_color())?;
        kept.iter().try_for_each(|row| self.put(row, false))
    }

    fn put(&mut self, row: &[String], bold: bool) -> Result<(), Failure> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let room = width.saturating_sub(cell.chars().count());
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', room + 2));
        }
        let line = line.trim_end();
        match bold {
            true => writeln!(self.out, "\x1b[1m{line}\x1b[0m")?,
            false => writeln!(self.out, "{line}")?,
        }
        Ok(())
    }

    /// Ends the table. A table of few rows or none is written only now.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        if self.widths.is_none() {
            self.settle()?;
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_the_first_rows() {
        let mut out = Vec::new();
        let mut stream = Stream::new(&mut out, &["NAME", "USED"]);
        for row in [["orders:7", "1/1"], ["b", "-"]] {
            stream.row(row.map(str::to_owned).into()).unwrap();
        }
        stream.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "NAME      USED\norders:7  1/1\nb         -\n");
    }
}
