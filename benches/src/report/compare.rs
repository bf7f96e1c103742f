//! Medians of two runs side by side.

use super::table;
use crate::results::{Report, number};
use crate::scenario;

/// Prints the figures that both reports have.
pub(super) fn show(before: &Report, after: &Report) {
    println!(
        "\nBefore and now\n\n  before: {}\n  now:    {}\n",
        before.machine, after.machine
    );
    let mut lines = vec![
        ["", "", "figure", "before", "now", "now/before"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for table in scenario::ALL.iter().flat_map(|scenario| scenario.tables) {
        for (placement, who) in after.rows(table.name) {
            for column in table.columns {
                let median = |report: &Report| {
                    let summary = report.summary(table.name, placement, who, column.key);
                    summary.map(|summary| summary.median)
                };
                let (Some(old), Some(new)) = (median(before), median(after)) else {
                    continue;
                };
                lines.push(vec![
                    format!("{}, {}: {who}", table.name, placement.label()),
                    String::new(),
                    column.heading.to_owned(),
                    number(old),
                    number(new),
                    if old == 0.0 {
                        String::new()
                    } else {
                        number(new / old)
                    },
                ]);
            }
        }
    }
    table::print(&lines);
}
