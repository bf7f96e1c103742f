//! 32 producers and 32 consumers: either at one belt of four items, with a mutex and two condition variables; or in
//! pairs, at belts for one item.

use std::time::Duration;

use auto_mutex::{Client, Config, MutexGuard};
use auto_mutex_tests::belt::Ledger;
use auto_mutex_tests::events::finishes;
use auto_mutex_tests::real_time::real_time_for;
use auto_mutex_tests::resp::Connection;

use crate::arena::{Arena, Plan, duration};
use crate::judge::{no_trouble, nothing_is_left};

const ONE_BELT: &str = "handoff:4";
const PARTNERS: &str = "partners:32";

/// Asserts that every item arrived once and in order.
fn all_was_handed_over(arena: &mut Arena) -> Ledger {
    arena.close();
    let ledger = Ledger::at(arena.witness.port());
    assert_eq!(ledger.faults, [""; 0], "items lost, twice or out of order");
    assert_eq!(ledger.taken, ledger.put, "items are left");
    assert!(ledger.put > 0, "nothing was handed over");
    ledger
}

/// The number of notifications that no waiter has taken: their waiters gave up, died or timed out while no other task
/// waited. Each of these would wake a later waiter for nothing.
fn left_over(arena: &Arena) -> u64 {
    // A killed waiter's notification returns when its lease has ended and a client asks. All others are already available.
    let within = match arena.dead.kills {
        0 => Duration::from_secs(1),
        _ => arena.plan.lease * 2,
    };
    let config = Config::new(arena.store.url())
        .expect("a good URL")
        .namespace("suite")
        .lease(arena.plan.lease)
        .store_timeout("60s");
    let port = arena.redis().port();
    let is_drained = move |name: &str| {
        let mut redis = Connection::tcp(port).expect("Redis");
        let kept = redis.call(&["KEYS", &format!("*{name}*:signals")]);
        kept.list().is_empty()
    };
    let drain = move |client: &Client, name: &str| {
        let condvar = client.condvar(name);
        let mut guard: MutexGuard = client.mutex(name).blocking_lock().expect("the lock");
        let mut count = 0;
        loop {
            let (again, ended) = condvar
                .blocking_wait_timeout(guard, within)
                .expect("a wait");
            if !ended.timed_out() {
                count += 1;
            } else if is_drained(name) {
                return count;
            }
            guard = again;
        }
    };
    let client = Client::connect(config).expect("a client");
    let belts = arena.plan.names().into_iter();
    let names: Vec<_> = belts
        .flat_map(|belt| [format!("{belt}-put"), format!("{belt}-taken")])
        .collect();
    finishes("nothing is left over", move || {
        std::thread::scope(|scope| {
            let drains: Vec<_> = names
                .iter()
                .map(|name| scope.spawn(|| drain(&client, name)))
                .collect();
            let counts = drains.into_iter();
            counts.map(|drain| drain.join().expect("no panic")).sum()
        })
    })
}

fn print(arena: &Arena, ledger: &Ledger, left_over: u64) {
    println!(
        "{} items, {} kills, freed within {:?}, {} notified, {} woken, {left_over} left over, {} given up, longest gap {:?}",
        ledger.put,
        arena.dead.kills,
        arena.dead.longest,
        ledger.notified,
        ledger.woken,
        arena.sum("cancelled"),
        ledger.longest_gap
    );
}

/// For a contest without faults: asserts that as many waiters wake as the notifiers counted, and that no task waits
/// forever.
fn nothing_is_lost(mut arena: Arena) {
    arena.watch_to_the_end();
    let ledger = all_was_handed_over(&mut arena);
    no_trouble(&arena);
    let left_over = left_over(&arena);
    print(&arena, &ledger, left_over);
    // More may be heard: a process may end before the store knows which notifications it has used.
    let heard = ledger.woken + left_over;
    assert!(ledger.notified <= heard, "a notification is lost");
    nothing_is_left(&arena);
}

#[test]
fn every_notification_wakes_somebody() {
    nothing_is_lost(Arena::open(Plan::calm("belt", ONE_BELT, "belt")));
}

#[test]
fn partners_never_wait_for_each_other() {
    nothing_is_lost(Arena::open(Plan::calm("partners", PARTNERS, "belt")));
}

#[test]
fn notifications_of_killed_waiters_wake_others() {
    let _watch = real_time_for(duration(4));
    let mut arena = Arena::open(Plan::with_faults("belt, kill", ONE_BELT, "belt", 4));
    while !arena.is_over() {
        arena.watch(Duration::from_secs(1));
        let victim = arena.victim_holding();
        arena.replace(victim);
    }
    let ledger = all_was_handed_over(&mut arena);
    let left_over = left_over(&arena);
    print(&arena, &ledger, left_over);
    // At most one task of a killed process holds the mutex. It may have used a notification without reporting it, or
    // may have reported it without the store learning of it.
    let (said, heard) = (ledger.notified, ledger.woken + left_over);
    assert!(
        said <= heard + arena.dead.kills,
        "{said} said, {heard} heard"
    );
    nothing_is_left(&arena);
}
