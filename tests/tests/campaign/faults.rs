//! Contests in which processes are killed and suspended, connections cut, and the server restarted.

use std::time::Duration;

use auto_mutex_tests::databases::missing_postgres;
use auto_mutex_tests::real_time::real_time_for;

use crate::arena::{Arena, Plan, Store, duration};
use crate::judge::{survived, suspend_now_and_then};

#[test]
fn processes_suspended_beyond_their_lease_write_nothing_stale() {
    let _watch = real_time_for(duration(6));
    let mut arena = Arena::open(Plan::with_faults("suspend", 6));
    let taken_over = suspend_now_and_then(&mut arena);
    let stale = survived(&mut arena).stale_writes;
    assert!(stale >= taken_over, "{stale} of {taken_over}");
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
    everything(Arena::open(Plan::with_faults("everything", 5)));
}

/// A crash of the server is among the faults there. It takes the locks away, and closes the store for a lease.
#[test]
fn everything_at_once_on_postgresql() {
    let _watch = real_time_for(duration(5));
    if let Some(missing) = missing_postgres() {
        println!("SKIPPED: everything_at_once_on_postgresql: {missing}");
        return;
    }
    let plan = Plan::with_faults("everything on PostgreSQL", 5);
    everything(Arena::on(Store::postgres(), plan));
}
