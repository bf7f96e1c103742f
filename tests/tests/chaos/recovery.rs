//! How long it takes until they get on again.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::field::Field;

/// What takes so long on any machine will not happen any more.
pub(crate) const NEVER: Duration = Duration::from_secs(60);

/// From the end of a fault (or from the fault, if it has no end) on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    /// Until somebody had a turn.
    pub(crate) first: Duration,
    /// Until every process had one.
    pub(crate) all: Duration,
}

/// Waits until every one of the processes has had a turn since `since`.
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
