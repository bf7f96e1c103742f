//! A contest without faults: nothing may go wrong, and every task gets a fair share. In a contest of minutes, no memory
//! may grow.

use std::time::Duration;

use auto_mutex_tests::worker::Worker;

use crate::arena::{Arena, Plan};
use crate::judge::is_calm;

/// The resident memory of all workers together, in KiB.
fn resident(arena: &Arena) -> u64 {
    let of = |worker: &Worker| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", worker.pid())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    arena.workers.iter().filter_map(of).sum()
}

#[test]
fn sixty_four_tasks_in_eight_processes_take_turns() {
    let mut arena = Arena::open(Plan::calm("calm"));
    let half = arena.plan.duration / 2;
    arena.watch(half);
    let before = resident(&arena);
    arena.watch_to_the_end();
    let after = resident(&arena);
    println!("resident memory: {before} KiB, then {after} KiB");
    let grows = half >= Duration::from_secs(60) && after > before + before / 4;
    assert!(!grows, "from {before} KiB to {after} KiB");
    is_calm(&mut arena);
}
