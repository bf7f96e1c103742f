//! Slots move back and forth while processes compete for the locks in them.

use std::time::{Duration, Instant};

use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::stalls::Stalls;

use crate::rig::{Contest, slot};

/// Long enough that no worker loses its lock because a move is slow.
const LEASE: Duration = Duration::from_secs(20);
/// The pause between two moves. Requests with several keys need it: they are retried at intervals until their slot has
/// arrived.
const REST: Duration = Duration::from_millis(300);

/// Returns the length of each contest; `AUTO_MUTEX_CAMPAIGN_SECONDS` overrides the default.
fn duration() -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_CAMPAIGN_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(6))
}

/// Runs contests until one had enough moves. Each lasts twice as long as the one before, because on a busy machine a move takes
/// long.
fn back_and_forth(kind: &str, name: &str) {
    let mut time = duration();
    while moves_within(time, kind, name) < 4 {
        time *= 2;
    }
}

/// Moves the slots during a contest of length `time`; returns the number of moves.
fn moves_within(time: Duration, kind: &str, name: &str) -> usize {
    let stalls = Stalls::watch();
    let cluster = Cluster::with(Shape::default().without_replicas());
    let what = format!("migration of {kind}");
    let mut contest = Contest::begin(&cluster, &what, (kind, name), LEASE, time);
    // For a contest with several names, the slots of the first two move.
    let names = match kind.split_once(':') {
        Some(("multi" | "partners", _)) => vec![format!("{name}0"), format!("{name}1")],
        _ => vec![name.to_owned()],
    };
    let slots: Vec<_> = names.iter().map(|name| slot(&cluster, name)).collect();
    let mut at: Vec<_> = slots.iter().map(|slot| Cluster::home(*slot)).collect();
    let (mut moves, mut longest) = (0, Duration::ZERO);
    while !contest.is_over() {
        for (slot, at) in slots.iter().zip(&mut at) {
            let to = (*at + 1 + moves % 2) % PRIMARIES;
            let migration = cluster.migrate(*slot, *at, to);
            let began = Instant::now();
            // The keys move one by one with pauses, to take as long as a large slot would.
            loop {
                let left = migration.left();
                if left.is_empty() {
                    break;
                }
                for key in left {
                    std::thread::sleep(Duration::from_millis(3));
                    migration.move_key(&key);
                }
            }
            if moves % 3 == 0 {
                std::thread::sleep(Duration::from_millis(50));
                migration.move_keys();
            }
            migration.finish();
            longest = longest.max(began.elapsed());
            *at = to;
            moves += 1;
        }
        contest.gets_on();
        std::thread::sleep(REST);
    }
    let verdict = contest.clean();
    println!("{moves} moves, the longest took {longest:?}");
    assert_eq!(verdict.crowded, 0, "the plain counter saw too many inside");
    assert_eq!(verdict.stale_writes, 0, "a register refused a write");
    let excused = stalls.may_have_cost_a_claim();
    assert!(contest.strange_losses() == 0 || excused);
    moves
}

#[test]
fn a_mutex_on_the_move_is_held_by_one_at_a_time() {
    back_and_forth("mutex", "m");
}

#[test]
fn a_semaphore_on_the_move_has_as_many_permits_as_ever() {
    back_and_forth("semaphore:3", "s");
}

#[test]
fn a_readers_writer_lock_on_the_move_keeps_its_sides_apart() {
    back_and_forth("rw", "l");
}

#[test]
fn several_names_on_the_move_are_held_all_or_none() {
    back_and_forth("multi:3", "n");
}
