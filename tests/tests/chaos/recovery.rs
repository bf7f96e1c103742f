//! Measures how long the processes need to recover from a fault.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::field::Field;

/// A time limit for the slowest machine: anything that has not happened by then never will.
pub(crate) const NEVER: Duration = Duration::from_secs(60);

/// The times of a recovery, from the end of the fault (or from its start, if it has no end).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    /// The time until the first process had a turn.
    pub(crate) first: Duration,
    /// The time until every process had a turn.
    pub(crate) all: Duration,
}

/// Waits until each of `processes` has had a turn after `since`.
pub(crate) fn recover(field: &mut Field, since: u64, processes: &[u32]) -> Recovery {
    let begun = Instant::now();
    let mut seen = BTreeMap::<u32, u64>::new();
    let all = |seen: &BTreeMap<u32, u64>| processes.iter().all(|pid| seen.contains_key(pid));
    while !all(&seen) {
        for turn in field.turns.look() {
            let pid = turn.who.split('/').next().and_then(|pid| pid.parse().ok());
            let pid = pid.expect("a process");
            if turn.at > since && processes.contains(&pid) {
                let at = seen.entry(pid).or_insert(turn.at);
                *at = turn.at.min(*at);
            }
        }
        if begun.elapsed() > NEVER {
            field.listen();
            panic!(
                "not all get on again: {processes:?}, but {seen:?} since {since}; {:#?}",
                field.said
            );
        }
        thread::sleep(Duration::from_millis(5));
    }
    let after = |at: Option<&u64>| Duration::from_micros(at.map_or(0, |at| at - since));
    Recovery {
        first: after(seen.values().min()),
        all: after(seen.values().max()),
    }
}

/// Waits until every process has had a turn from now on.
pub(crate) fn settle(field: &mut Field) {
    let (now, alive) = (field.now(), field.alive());
    recover(field, now, &alive);
}
