//! Contests in which processes are killed and suspended, connections cut, scripts flushed, and the server restarted.

use std::time::{Duration, Instant};

use auto_mutex_tests::databases::missing_postgres;
use auto_mutex_tests::real_time::real_time_for;

use crate::arena::{Arena, Plan, Store, duration};
use crate::judge::{kill_now_and_then, survived, suspend_now_and_then};

fn plan(what: &'static str, seconds: u64) -> Plan {
    Plan::with_faults(what, "mutex", "m", seconds)
}

#[test]
fn killed_processes_leave_no_stuck_lock() {
    let _watch = real_time_for(duration(3));
    let mut arena = Arena::open(plan("kill", 3));
    kill_now_and_then(&mut arena);
    survived(&mut arena);
}

#[test]
fn processes_suspended_beyond_their_lease_write_nothing_stale() {
    let _watch = real_time_for(duration(6));
    let mut arena = Arena::open(plan("suspend", 6));
    let taken_over = suspend_now_and_then(&mut arena);
    let stale = survived(&mut arena).stale_writes;
    assert!(stale >= taken_over, "{stale} of {taken_over}");
}

#[test]
fn cut_connections_and_flushed_scripts_harm_nobody() {
    let _watch = real_time_for(duration(3));
    let mut arena = Arena::open(plan("cut", 3));
    while !arena.is_over() {
        match arena.seed.below(3) {
            0 => arena.redis().kill_clients(),
            1 => drop(arena.redis().command(&["SCRIPT", "FLUSH"])),
            _ => {
                arena.redis().command(&["SCRIPT", "FLUSH"]);
                arena.redis().kill_clients();
            }
        }
        let pause = Duration::from_millis(100 + arena.seed.below(400));
        arena.watch(pause);
    }
    survived(&mut arena);
}

#[test]
fn restarts_of_the_server_lose_nothing() {
    let _watch = real_time_for(duration(3));
    let mut arena = Arena::open(plan("restart", 3));
    while !arena.is_over() {
        arena.watch(Duration::from_millis(1500));
        let started = Instant::now();
        arena.redis().restart();
        println!("restarted in {:?}", started.elapsed());
    }
    survived(&mut arena);
}

fn everything(mut arena: Arena) {
    let ready = |arena: &Arena| arena.said.iter().filter(|line| *line == "ready").count();
    while !arena.is_over() {
        match arena.seed.below(5) {
            0 | 1 => {
                let victim = arena.victim();
                let before = ready(&arena);
                arena.replace(victim);
                // The next fault of the store would end the set-up of the new worker.
                arena.watch_until(|arena| ready(arena) > before);
            }
            2 => {
                let victim = arena.victim();
                arena.watch(arena.plan.lease + Duration::from_millis(200));
                arena.workers[victim].cont();
            }
            3 => arena.store.cut(),
            _ => arena.store.restart(&mut arena.seed),
        }
        arena.watch(Duration::from_millis(700));
    }
    survived(&mut arena);
}

#[test]
fn everything_at_once() {
    let _watch = real_time_for(duration(5));
    everything(Arena::open(plan("everything", 5)));
}

/// A crash of the server is among the faults there. It takes the locks away, and closes the store for a lease.
#[test]
fn everything_at_once_on_postgresql() {
    let _watch = real_time_for(duration(5));
    if let Some(missing) = missing_postgres() {
        println!("SKIPPED: everything_at_once_on_postgresql: {missing}");
        return;
    }
    let plan = plan("everything on PostgreSQL", 5);
    everything(Arena::on(Store::postgres(), plan));
}
