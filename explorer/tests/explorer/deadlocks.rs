//! The search for deadlocks: every property holds in every state of the runs, and each run reaches what it must.

use auto_mutex_explorer::check::{refute, replay};
use auto_mutex_explorer::deadlock::properties::ONE;
use auto_mutex_explorer::deadlock::rules::Setup;
use auto_mutex_explorer::deadlock::runs::{all, different_units};
use auto_mutex_explorer::deadlock::world::Action::{Answer, Cancel, Copy, Lock, Search};

use super::replays;

fn run(name: &str) -> Setup {
    let run = all().into_iter().find(|run| run.name == name);
    Setup::new(run.unwrap_or_else(|| panic!("{name} is no run")).rules)
}

runs! {
    two_tasks_lose_holds_that_stay
    two_tasks_give_up_and_one_dies
    two_tasks_of_one_client
    three_mutexes
    three_mutexes_and_one_client_dies
    two_of_three_tasks_share_a_client_and_give_up
    two_of_three_tasks_share_a_client_and_lose_holds
    a_semaphore_and_a_mutex
    a_semaphore_and_a_mutex_and_one_client_dies
    a_readers_writer_lock_and_a_mutex
    a_readers_writer_lock_and_nobody_begins_to_wait
    a_readers_writer_lock_and_a_mutex_and_one_client_dies;
    three_mutexes_and_tasks_give_up
}

/// All requests of a name are for the same units. Otherwise a task that begins to wait during a search can become a
/// part of a deadlock that was there before, and a search that asked this task too early chooses another call.
#[test]
fn one_victim_needs_equal_units() {
    let run = Setup::new(different_units());
    let way = refute(run.clone(), ONE);
    let way = way.unwrap_or_else(|| panic!("{ONE} holds"));
    println!("{way:?}");
    assert!(replay(&run, &way).contains(ONE));
}

/// With a fault of the list in the code, each of these ways breaks a property.
#[test]
fn ways_of_counterexamples_hold() {
    // Fault `deadlock-of-waits-by-ticket`.
    replays(
        &run("two_of_three_tasks_share_a_client_and_give_up"),
        &[
            Lock(1, 0, 1),
            Lock(0, 1, 1),
            Lock(0, 1, 1),
            Lock(1, 0, 1),
            Lock(2, 0, 1),
            Search,
            Answer(0, false),
            Answer(0, false),
            Answer(0, false),
            Answer(0, false),
            Cancel(1),
            Lock(1, 0, 1),
            Answer(0, false),
            Answer(0, false),
            Answer(0, false),
            Answer(0, false),
        ],
    );
    // Fault `deadlock-by-an-answer-of-another-pass`.
    replays(
        &run("two_tasks_give_up_and_one_dies"),
        &[
            Lock(1, 0, 1),
            Lock(0, 1, 1),
            Lock(0, 1, 1),
            Lock(1, 0, 1),
            Search,
            Answer(0, false),
            Answer(0, false),
            Answer(0, true),
            Cancel(1),
            Answer(0, false),
            Answer(0, false),
            Answer(0, false),
            Copy,
            Answer(0, false),
        ],
    );
}
