//! The results, as a table.

use std::fmt::Write as _;
use std::time::Duration;

use crate::faults::Fault;
use crate::locks::Lock;
use crate::matrix::Cell;

/// A row for each fault, a column for each lock.
pub(crate) fn markdown(faults: &[Fault], cells: &[Cell]) -> String {
    let names = Lock::ALL.iter().map(|lock| format!(" {} |", lock.name));
    let mut text = format!("| fault |{}\n|---|", names.collect::<String>());
    text += &"---|".repeat(Lock::ALL.len());
    for fault in faults {
        let mark = if fault.is_fenced_only { " *" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(text, "\n| {}{mark} |", fault.name);
        for lock in Lock::ALL {
            let mut row = cells.iter();
            let cell = row.find(|cell| cell.fault == fault.name && cell.lock == lock.name);
            let _ = write!(text, " {} |", cell.map_or_else(String::new, entry));
        }
    }
    text + "\n"
}

/// Runs, violations (and excused events), the median and the longest time until the first turn, and the longest time
/// until all processes had a turn, in seconds.
fn entry(cell: &Cell) -> String {
    if let Some(why) = &cell.skipped {
        return format!("SKIPPED: {}", why.lines().next().unwrap_or_default());
    }
    let violations = cell.judgement.violations.len();
    let mut firsts: Vec<_> = cell.recoveries.iter().map(|it| it.first).collect();
    firsts.sort();
    let alls = cell.recoveries.iter().map(|it| it.all).max();
    let [median, first, all] = [firsts.get(firsts.len() / 2), firsts.last(), alls.as_ref()]
        .map(|time| time.map_or(0.0, Duration::as_secs_f64));
    let excused = match cell.judgement.excused {
        0 => String::new(),
        excused => format!(" ({excused})"),
    };
    format!(
        "{}, {violations}{excused}; {median:.2}/{first:.2}; {all:.2}",
        firsts.len()
    )
}
