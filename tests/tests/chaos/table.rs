//! The results, as a table for readers and as figures for programs.

use std::fmt::Write as _;
use std::time::Duration;

use crate::locks::Lock;
use crate::matrix::Cell;

/// A row for each fault, a column for each lock.
pub(crate) fn markdown(cells: &[Cell]) -> String {
    let mut text = String::from("| fault |");
    for lock in Lock::ALL {
        // Writing to a String cannot fail.
        let _ = write!(text, " {} |", lock.name);
    }
    text += "\n|---|";
    text += &"---|".repeat(Lock::ALL.len());
    let mut rows: Vec<(&str, bool)> = Vec::new();
    for cell in cells {
        if rows.last().is_none_or(|(fault, _)| *fault != cell.fault) {
            rows.push((cell.fault, cell.fenced_only));
        }
    }
    for (fault, fenced_only) in rows {
        let mark = if fenced_only { " *" } else { "" };
        let _ = write!(text, "\n| {fault}{mark} |");
        for lock in Lock::ALL {
            let mut row = cells.iter();
            let cell = row.find(|cell| cell.fault == fault && cell.lock == lock.name);
            let _ = write!(text, " {} |", cell.map_or_else(String::new, entry));
        }
    }
    text += "\n";
    text
}

/// Runs, violations (and excused events), the time until the first turn, and the longest time until all processes had a turn.
fn entry(cell: &Cell) -> String {
    if let Some(why) = &cell.skipped {
        return format!("SKIPPED: {}", why.lines().next().unwrap_or_default());
    }
    let runs = cell.recoveries.len();
    let violations = cell.judgement.violations.len();
    let firsts = Spread::of(cell.recoveries.iter().map(|recovery| recovery.first));
    let alls = Spread::of(cell.recoveries.iter().map(|recovery| recovery.all));
    let excused = match cell.judgement.excused {
        0 => String::new(),
        excused => format!(" ({excused})"),
    };
    format!(
        "{runs}, {violations}{excused}; {firsts}; {:.2}",
        alls.longest.as_secs_f64()
    )
}

/// A line for each fault and lock, with tabs between its figures. Times are in milliseconds.
pub(crate) fn tsv(cells: &[Cell]) -> String {
    let mut text = String::from(
        "fault\tlock\truns\tviolations\toutside the promise\trefused writes\tlosses told\tfirst p50\tfirst p99\tfirst max\tall p50\tall p99\tall max\tskipped\n",
    );
    for cell in cells {
        let firsts = Spread::of(cell.recoveries.iter().map(|recovery| recovery.first));
        let alls = Spread::of(cell.recoveries.iter().map(|recovery| recovery.all));
        let skipped = cell.skipped.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            cell.fault,
            cell.lock,
            cell.recoveries.len(),
            cell.judgement.violations.len(),
            cell.judgement.excused,
            cell.judgement.refused,
            cell.judgement.losses,
            firsts.millis(),
            alls.millis(),
            skipped.replace(['\t', '\n'], " "),
        );
    }
    text
}

struct Spread {
    median: Duration,
    p99: Duration,
    longest: Duration,
}

impl Spread {
    fn of(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<_> = times.collect();
        times.sort();
        // The smallest value that at least this percentage of the values does not exceed.
        let at = |hundredths: usize| {
            let rank = (times.len() * hundredths).div_ceil(100);
            times
                .get(rank.saturating_sub(1))
                .copied()
                .unwrap_or_default()
        };
        Self {
            median: at(50),
            p99: at(99),
            longest: at(100),
        }
    }

    fn millis(&self) -> String {
        let millis = |time: Duration| time.as_millis().to_string();
        [self.median, self.p99, self.longest].map(millis).join("\t")
    }
}

/// Shows the times in seconds.
impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, p99, longest] =
            [self.median, self.p99, self.longest].map(|time| time.as_secs_f64());
        write!(f, "{median:.2}/{p99:.2}/{longest:.2}")
    }
}

#[test]
fn percentiles_are_values_that_occurred() {
    let spread = |millis: &[u64]| {
        let times = millis.iter().map(|&millis| Duration::from_millis(millis));
        Spread::of(times).millis()
    };
    assert_eq!(spread(&[]), "0\t0\t0");
    assert_eq!(spread(&[7]), "7\t7\t7");
    assert_eq!(spread(&[30, 10, 20]), "20\t30\t30");
    let hundred: Vec<u64> = (1..=200).collect();
    assert_eq!(spread(&hundred), "100\t198\t200");
}
