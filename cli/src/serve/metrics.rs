//! The last snapshot in the text format of Prometheus. No label contains a name, host or token, because there may be
//! too many different values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use auto_mutex::operator::Lock;

use super::snapshot::Snapshot;
use crate::output::json;

/// Sums and maxima over the locks of one kind.
#[derive(Default)]
struct Sums {
    locks: usize,
    holders: usize,
    waiters: usize,
    oldest_wait: Duration,
    longest_hold: Duration,
}

pub(crate) fn text(snapshot: &Snapshot) -> String {
    // What was seen before an outage is not true any more.
    let kinds = match snapshot.trouble {
        None => sums(&snapshot.locks),
        Some(_) => BTreeMap::new(),
    };
    let mut out = String::new();
    let mut by_kind = |name: &str, help: &str, value: &dyn Fn(&Sums) -> f64| {
        head(&mut out, name, help);
        for (kind, sums) in &kinds {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{name}{{kind=\"{kind}\"}} {}", value(sums));
        }
    };
    by_kind(
        "auto_mutex_locks",
        "Locks that are held or waited for.",
        &|sums| sums.locks as f64,
    );
    by_kind("auto_mutex_holders", "Holders of these locks.", &|sums| {
        sums.holders as f64
    });
    by_kind("auto_mutex_waiters", "Waiters for these locks.", &|sums| {
        sums.waiters as f64
    });
    by_kind(
        "auto_mutex_oldest_wait_seconds",
        "For how long the oldest waiter has waited.",
        &|sums| sums.oldest_wait.as_secs_f64(),
    );
    by_kind(
        "auto_mutex_longest_hold_seconds",
        "For how long the oldest holder has held.",
        &|sums| sums.longest_hold.as_secs_f64(),
    );
    let is_up = snapshot.trouble.is_none();
    let cycles = snapshot.chains.iter().filter(|chain| chain.cycle && is_up);
    let cycles = cycles.count();
    for (name, help, value) in [
        (
            "auto_mutex_cycles",
            "Cycles of tasks that wait for each other.",
            cycles as f64,
        ),
        (
            "auto_mutex_store_up",
            "Whether the last look at the store succeeded.",
            f64::from(u8::from(is_up)),
        ),
        (
            "auto_mutex_look_duration_seconds",
            "How long the last look took.",
            snapshot.took.as_secs_f64(),
        ),
    ] {
        head(&mut out, name, help);
        let _ = writeln!(out, "{name} {value}");
    }
    out
}

/// The values for each kind of lock.
fn sums(locks: &[Lock]) -> BTreeMap<&'static str, Sums> {
    let mut kinds: BTreeMap<_, Sums> = BTreeMap::new();
    for lock in locks {
        let sums = kinds
            .entry(lock.kind.map_or("other", json::kind))
            .or_default();
        sums.locks += 1;
        sums.holders += lock.holders.len();
        sums.waiters += lock.waiters.len();
        sums.oldest_wait = sums.oldest_wait.max(lock.oldest_wait().unwrap_or_default());
        sums.longest_hold = sums.longest_hold.max(lock.held().unwrap_or_default());
    }
    kinds
}

fn head(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}
