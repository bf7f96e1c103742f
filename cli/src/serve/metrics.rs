//! The last snapshot in Prometheus' text format. No label has a host or a token, of which there may be too many; and
//! only the seats of leaders have their name, up to [`SEATS`] of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use auto_mutex::operator::Lock;

use super::snapshot::Snapshot;
use crate::output::json;

/// Sums and maxima over the locks of one kind: names and help texts.
const BY_KIND: [(&str, &str); 6] = [
    ("locks", "Locks that are held or waited for."),
    ("holders", "Holders of these locks."),
    ("waiters", "Waiters for these locks."),
    (
        "oldest_wait_seconds",
        "For how long the oldest waiter has waited.",
    ),
    (
        "longest_hold_seconds",
        "For how long the oldest holder has held.",
    ),
    (
        "kept",
        "Locks that a process keeps between calls, which are not held.",
    ),
];

/// For each seat of a leader: names and help texts.
const BY_SEAT: [(&str, &str); 3] = [
    ("seat_led", "Whether somebody leads."),
    (
        "seat_term",
        "The number of the leader's term; 0 if nobody leads.",
    ),
    ("seat_standbys", "Processes that stand by."),
];
/// The most seats whose names are labels.
const SEATS: usize = 200;

/// `is_late` if the store takes longer to answer than it did for this snapshot.
pub(crate) fn text(snapshot: &Snapshot, is_late: bool) -> String {
    // After an outage began, old values are no longer true.
    let is_up = snapshot.trouble.is_none() && !is_late;
    let kinds = sums(snapshot.locks.iter().filter(|_| is_up));
    let cycles = snapshot.chains.iter().filter(|chain| chain.cycle && is_up);
    let mut out = String::new();
    let mut put = |name: &str, help: &str, values: &[(String, f64)]| {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "# HELP auto_mutex_{name} {help}\n# TYPE auto_mutex_{name} gauge"
        );
        for (label, value) in values {
            let _ = writeln!(out, "auto_mutex_{name}{label} {value}");
        }
    };
    for (index, (name, help)) in BY_KIND.into_iter().enumerate() {
        let of =
            |(kind, values): (&&str, &[f64; 6])| (format!("{{kind=\"{kind}\"}}"), values[index]);
        put(name, help, &kinds.iter().map(of).collect::<Vec<_>>());
    }
    let seats: BTreeMap<_, _> = snapshot
        .locks
        .iter()
        .filter(|lock| lock.is_seat() && is_up)
        .map(|lock| (&*lock.name, lock))
        .collect();
    for (index, (name, help)) in BY_SEAT.into_iter().enumerate() {
        let of = |(seat, lock): (&&str, &&Lock)| {
            let term = lock.leader().map_or(0, |leader| leader.token);
            let led = u8::from(term > 0);
            let values = [led.into(), term as f64, lock.waiters.len() as f64];
            // The text of a name is already escaped, except for these.
            let seat = seat.replace('\\', r"\\").replace('"', r#"\""#);
            (format!("{{seat=\"{seat}\"}}"), values[index])
        };
        put(
            name,
            help,
            &seats.iter().take(SEATS).map(of).collect::<Vec<_>>(),
        );
    }
    let up = f64::from(u8::from(is_up));
    let took = snapshot.took.as_secs_f64();
    for (name, help, value) in [
        (
            "cycles",
            "Cycles of tasks that wait for each other.",
            cycles.count() as f64,
        ),
        (
            "store_up",
            "Whether the last look at the store succeeded.",
            up,
        ),
        (
            "look_duration_seconds",
            "How long the last look took.",
            took,
        ),
    ] {
        put(name, help, &[(String::new(), value)]);
    }
    out
}

/// The values for each kind of lock.
fn sums<'a>(locks: impl Iterator<Item = &'a Lock>) -> BTreeMap<&'static str, [f64; 6]> {
    let mut kinds = BTreeMap::new();
    for lock in locks {
        let kind = lock.kind.map_or("other", json::kind);
        let [count, holders, waiters, oldest, longest, kept] =
            kinds.entry(kind).or_insert([0.0; 6]);
        let is_kept = lock.is_kept();
        *kept += f64::from(u8::from(is_kept));
        if is_kept && lock.waiters.is_empty() {
            continue;
        }
        *count += 1.0;
        *holders += lock.holders.iter().filter(|hold| !hold.kept).count() as f64;
        *waiters += lock.waiting() as f64;
        *oldest = oldest.max(lock.oldest_wait().unwrap_or_default().as_secs_f64());
        *longest = longest.max(lock.held().unwrap_or_default().as_secs_f64());
    }
    kinds
}
