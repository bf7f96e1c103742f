//! The local queue under a hostile network, on a manual clock: many members and one name. A seed decides the order of
//! requests, replies, messages, broken connections, late copies, cancels, pauses and crashes.
//!
//! The seed decides whether the name is a mutex, a semaphore with signals, or a readers-writer lock.
//!
//! At every instant:
//! - the holds that are valid by their members' own clocks fit into the capacity;
//! - fencing tokens grow;
//! - no two tickets hold the same signal.
//!
//! At the end:
//! - every waiter is served, immediately if no member died;
//! - no signal is lost, and nothing is left in the store;
//! - every caller that waits for the result of an unlock or a renewal gets a correct one.
//!
//! If messages are merely reordered, no hold is lost, and no other ticket is granted before an `at_least` is over.
//!
//! `AUTO_MUTEX_SEED=n cargo test -p auto-mutex-core --lib simulation` replays one run; `AUTO_MUTEX_RUNS=n` makes more.

mod network;
mod node;
mod shape;
mod world;

use self::world::World;

/// The results of several runs.
#[derive(Debug, Default)]
struct Tally {
    served: u32,
    lost: u32,
    handed: u32,
}

fn run(seed: u64, calm: bool) -> Tally {
    let mut world = World::new(seed, calm);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..600 {
            world.random_step();
        }
        world.settle();
    }));
    if let Err(panic) = result {
        let tail = world.log.len().saturating_sub(120);
        eprintln!("{}", world.log[tail..].join("\n"));
        eprintln!("replay with AUTO_MUTEX_SEED={seed}");
        std::panic::resume_unwind(panic);
    }
    Tally {
        served: world.served,
        lost: world.lost,
        handed: world.handed,
    }
}

fn runs(calm: bool) -> Tally {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        return run(seed, calm);
    }
    let mut tally = Tally::default();
    for seed in 0..number("AUTO_MUTEX_RUNS").unwrap_or(1000) {
        let one = run(seed, calm);
        tally.served += one.served;
        tally.lost += one.lost;
        tally.handed += one.handed;
    }
    println!("{tally:?}");
    assert!(tally.served > 0 && tally.handed > 0, "{tally:?}");
    tally
}

#[test]
fn whatever_the_network_does_one_holds_and_all_are_served() {
    runs(false);
}

#[test]
fn whatever_the_order_nothing_is_lost() {
    let Tally { lost, .. } = runs(true);
    assert_eq!(lost, 0, "a lock was lost for no reason");
}
