//! Processes are killed and suspended, connections cut, scripts flushed, the server restarted.

use std::time::{Duration, Instant};

use crate::arena::{Arena, alone, duration, is_clean};
use crate::calm::nothing_is_left;

const LEASE: Duration = Duration::from_secs(2);

/// How long nobody may get in: the lease of a holder that died, the two seconds that a dead waiter may cost,
/// the start of a server, and what a slow machine adds.
const STUCK: Duration = Duration::from_secs(8);

/// How many losses were noticed, and how many stale writes the register refused.
fn judge(mut arena: Arena) -> (u64, usize) {
    let verdict = arena.close();
    is_clean(&verdict);
    assert!(
        verdict.longest_gap < STUCK,
        "stuck for {:?}",
        verdict.longest_gap
    );
    let timeouts: u64 = arena.figures("timeouts").iter().sum();
    assert_eq!(timeouts, 0, "somebody waited for half a minute");
    let lost = arena.figures("lost").iter().sum();
    println!(
        "{} turns proven, {} stale writes refused, {lost} losses, longest gap {:?}",
        verdict.proven, verdict.stale_writes, verdict.longest_gap,
    );
    nothing_is_left(&arena);
    (lost, verdict.stale_writes)
}

#[test]
fn killed_processes_leave_no_stuck_lock() {
    let _alone = alone();
    let mut arena = Arena::open("kill", LEASE, duration(8));
    while !arena.is_over() {
        arena.watch(Duration::from_secs(1));
        let victim = arena.victim();
        arena.replace(victim);
    }
    judge(arena);
}

#[test]
fn processes_suspended_beyond_their_lease_write_nothing_stale() {
    let _alone = alone();
    let least = LEASE * 3;
    let mut arena = Arena::open("suspend", LEASE, duration(8).max(least));
    // Once for sure: inside, and until others have taken over.
    arena.watch(Duration::from_millis(300));
    let victim = arena.caught_inside();
    arena.watch(LEASE + Duration::from_secs(1));
    arena.workers[victim].cont();
    while !arena.is_over() {
        arena.watch(Duration::from_millis(300));
        let victim = arena.victim();
        // Half of the time others must take over, half of the time they need not.
        let pause = LEASE / 2 * (1 + 2 * arena.seed.below(2) as u32);
        arena.watch(pause + Duration::from_millis(200));
        arena.workers[victim].cont();
    }
    let (lost, stale) = judge(arena);
    assert!(
        lost > 0 && stale > 0,
        "nobody was caught: {lost} losses, {stale} stale writes"
    );
}

#[test]
fn cut_connections_and_flushed_scripts_harm_nobody() {
    let _alone = alone();
    let mut arena = Arena::open("cut", LEASE, duration(8));
    while !arena.is_over() {
        match arena.seed.below(3) {
            0 => arena.redis.kill_clients(),
            1 => drop(arena.redis.command(&["SCRIPT", "FLUSH"])),
            _ => {
                arena.redis.command(&["SCRIPT", "FLUSH"]);
                arena.redis.kill_clients();
            }
        }
        let pause = Duration::from_millis(100 + arena.seed.below(400));
        arena.watch(pause);
    }
    judge(arena);
}

#[test]
fn restarts_of_the_server_lose_nothing() {
    let _alone = alone();
    let mut arena = Arena::open("restart", LEASE, duration(8));
    while !arena.is_over() {
        arena.watch(Duration::from_millis(1500));
        let started = Instant::now();
        arena.redis.restart();
        println!("restarted in {:?}", started.elapsed());
    }
    judge(arena);
}

#[test]
fn everything_at_once() {
    let _alone = alone();
    let mut arena = Arena::open("everything", LEASE, duration(8));
    while !arena.is_over() {
        match arena.seed.below(5) {
            0 | 1 => {
                let victim = arena.victim();
                arena.replace(victim);
            }
            2 => {
                let victim = arena.victim();
                arena.watch(LEASE + Duration::from_millis(200));
                arena.workers[victim].cont();
            }
            3 => {
                arena.redis.command(&["SCRIPT", "FLUSH"]);
                arena.redis.kill_clients();
            }
            _ => arena.redis.restart(),
        }
        arena.watch(Duration::from_millis(700));
    }
    judge(arena);
}
