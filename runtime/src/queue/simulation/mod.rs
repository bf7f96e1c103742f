//! The local queue under a hostile network, on a clock by hand: many members, one name, and every order of
//! requests, replies, messages, broken connections, late copies, cancels, pauses and crashes that a seed yields.
//!
//! The name is a mutex, a semaphore with signals, or a readers-writer lock, as the seed says.
//!
//! What must hold at every instant: what is valid by its member's own clock fits into the capacity; fencing tokens
//! grow; no signal is in two hands. In the end no signal is lost. What must hold in the end: whoever waits is served, at once where nobody died, and nothing stays behind in
//! the store; whoever waits for the word of an unlock or a renewal gets it, and it is true. And where only the
//! order is hostile, nothing is lost, and nobody gets in before an `at_least` is over.
//!
//! `AUTO_MUTEX_SEED=n cargo test -p auto-mutex simulation` replays one run; `AUTO_MUTEX_RUNS=n` makes more.

mod dice;
mod network;
mod node;
mod shape;
mod world;

use self::world::World;

fn run(seed: u64, calm: bool) -> (u32, u32) {
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
    (world.served, world.lost)
}

fn runs(calm: bool) -> (u32, u32) {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        run(seed, calm);
        return (1, 0);
    }
    let (mut served, mut lost) = (0, 0);
    for seed in 0..number("AUTO_MUTEX_RUNS").unwrap_or(1000) {
        let result = run(seed, calm);
        served += result.0;
        lost += result.1;
    }
    println!("{served} served, {lost} lost");
    (served, lost)
}

#[test]
fn whatever_the_network_does_one_holds_and_all_are_served() {
    let (served, _) = runs(false);
    assert!(served > 0);
}

#[test]
fn whatever_the_order_nothing_is_lost() {
    let (served, lost) = runs(true);
    assert!(served > 0);
    assert_eq!(lost, 0, "a lock was lost for no reason");
}
