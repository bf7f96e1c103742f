//! Prints tables on the terminal.

use crate::gate::Verdict;
use crate::measure::Summary;
use crate::peer::Contender;
use crate::results::{Report, number};
use crate::scenario::Table;

/// Prints a table if any of its figures was measured.
pub(super) fn show(report: &Report, table: &Table) {
    let rows = report.rows(table.name);
    if rows.is_empty() {
        return;
    }
    let base = Contender::Rslock.label();
    let mut lines = vec![vec![String::new(), String::new()]];
    for column in table.columns {
        lines[0].push(column.heading.to_owned());
        if column.ratio {
            lines[0].push("×".to_owned());
        }
    }
    for (placement, who) in rows {
        let mut line = vec![who.to_owned(), placement.label().to_owned()];
        for column in table.columns {
            let summary = report.summary(table.name, placement, who, column.key);
            line.push(summary.map(cell).unwrap_or_default());
            if column.ratio {
                let ratio = report.ratio(table.name, placement, who, base, column.key);
                line.push(ratio.filter(|_| who != base).map(cell).unwrap_or_default());
            }
        }
        lines.push(line);
    }
    println!("\n{}\n", table.title);
    print(&lines);
}

/// Prints the goals that were measured; with `counts`, only goals that are nearly independent of the machine.
pub(super) fn verdicts(verdicts: &[Verdict], counts: bool) {
    let judged = |verdict: &&Verdict| verdict.found.is_some() && (verdict.count || !counts);
    let verdicts: Vec<_> = verdicts.iter().filter(judged).collect();
    if verdicts.is_empty() {
        return;
    }
    let mut lines = vec![["", "goal", "found", "", "by"].map(str::to_owned).to_vec()];
    for verdict in verdicts {
        let Some(found) = verdict.found else { continue };
        lines.push(vec![
            verdict.what.clone(),
            verdict.limit.to_string(),
            cell(found),
            if verdict.met { "met" } else { "MISSED" }.to_owned(),
            verdict.margin(),
        ]);
    }
    println!("\nGoals\n");
    print(&lines);
}

/// Shows the median, and the range unless it is a single value.
pub(super) fn cell(summary: Summary) -> String {
    let Summary { median, min, max } = summary;
    if min == max {
        return number(median);
    }
    format!("{} [{}–{}]", number(median), number(min), number(max))
}

/// Prints lines of cells: the first column aligned to the left, the others to the right.
pub(super) fn print(lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        let mut text = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            text.push_str(&match column {
                0 => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
        }
        println!("{}", text.trim_end());
    }
}
