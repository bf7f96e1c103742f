//! Every property holds in every state of the runs, and each run reaches what it must. The large ones take minutes, and
//! some GB: `cargo test -p auto-mutex-explorer -- --ignored`.

/// A test for each run of this module.
macro_rules! runs {
    ($($small:ident)*; $($large:ident)*) => {
        $(#[test]
        fn $small() {
            crate::holds(stringify!($small), run(stringify!($small)));
        })*

        $(#[test]
        #[ignore = "takes minutes"]
        fn $large() {
            crate::holds(stringify!($large), run(stringify!($large)));
        })*

        #[test]
        fn each_run_is_a_test() {
            let names = |large| {
                let runs = all().into_iter().filter(move |run| run.large == large);
                runs.map(|run| run.name).collect::<Vec<_>>()
            };
            assert_eq!(names(false), [$(stringify!($small)),*] as [&str; _]);
            assert_eq!(names(true), [$(stringify!($large)),*] as [&str; _]);
        }
    };
}

mod condvars;
mod deadlocks;
mod leading;
mod rounds;
mod several;

use std::any::TypeId;

use auto_mutex_explorer::check::{Explored, explore, refute, replay, stroll};
use auto_mutex_explorer::name::random;
use auto_mutex_explorer::name::rules::Setup;
use auto_mutex_explorer::name::runs::{all, assumptions, counterexamples, run};

/// The seeds of random runs.
fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let number = |variable| Some(std::env::var(variable).ok()?.parse().unwrap());
    let seed = number("AUTO_MUTEX_SEED");
    let runs = number("AUTO_MUTEX_RUNS").unwrap_or(if seed.is_some() { 1 } else { usual });
    let first = seed.unwrap_or(1);
    first..first + runs
}

/// Every property holds in every state of a run.
fn holds<M: Explored>(name: &str, run: M) {
    let is_of_a_name = TypeId::of::<M>() == TypeId::of::<Setup>();
    let outcome = explore(run);
    let (states, depth, took) = (outcome.states, outcome.depth, outcome.took);
    println!("{states} states, {depth} deep, in {took:.1?}");
    for (property, way) in &outcome.broken {
        println!("{property}; as a test: replays(&run({name:?}), &{way:?});");
        if is_of_a_name {
            println!(
                "As a test of core/src/test_kit/tests/counterexamples.rs: in_world(&run({name:?}), &{way:?});"
            );
        }
    }
    assert!(outcome.broken.is_empty(), "something does not hold");
    assert!(
        outcome.unseen.is_empty(),
        "no state has {:?}",
        outcome.unseen
    );
}

/// Goes a way that has broken a property of a run.
fn replays<M: Explored>(run: &M, way: &[M::Action]) {
    let broken = replay(run, way);
    assert!(broken.is_empty(), "{broken:?}");
}

runs! {
    two_clients
    two_calls_at_once_and_another_client
    three_clients
    a_semaphore
    a_writer_and_two_readers
    too_many_calls_wait
    calls_give_up
    calls_give_up_and_messages_come_twice
    clocks_slip
    the_clock_stalls
    at_least_counts_for_calls_of_the_client
    calls_of_an_owner
    a_hold_is_handed_over
    a_waiter_is_notified
    the_store_does_not_answer_in_time
    one_client_polls
    a_client_tries_what_another_keeps
    calls_miss_their_grants
    a_call_misses_every_grant
    a_program_skips_its_locks
    a_connection_breaks
    a_client_dies
    a_client_dies_with_a_long_lease
    the_store_loses_its_data
    the_store_reports_that_it_has_lost_its_data
    a_client_begins_before_it_is_connected
    the_store_drops_what_is_over
    the_clock_is_stepped_back
    one_client_dies_and_the_clock_is_stepped_back
    a_client_takes_the_store_for_closed
    tokens_grow_whatever_happens
    an_operator_forces_the_lock
    an_operator_kicks_whom_it_has_seen
    kept
    kept_for_oneself
    kept_for_oneself_slowly
    kept_for_oneself_and_a_connection_breaks
    kept_and_the_clock_stalls
    kept_and_renewed
    kept_and_messages_are_lost
    kept_and_a_client_dies
    a_call_expires
    a_call_expires_after_another_of_its_client
    a_call_expires_in_what_is_kept
    a_client_ends_and_its_hold_is_kept_for_at_least
    a_client_drains_and_ends_and_keeps_nothing
    the_store_refuses_a_request
    the_store_refuses_a_request_of_a_client_that_tries
    a_client_asks_about_the_name
    one_client_keeps_another_kind_of_lock
    one_client_wants_more_permits_than_there_are
    one_client_gives_fewer_permits
    units_are_added_to_a_semaphore
    a_stranger_sends_what_it_makes_of_messages
    a_stranger_recalls_what_is_kept;
    two_clients_call_twice_slowly
    three_clients_slowly
    a_replica_takes_over
    a_client_takes_the_store_for_closed_slowly
    a_connection_breaks_slowly
    a_connection_breaks_between_two_calls
    a_client_takes_the_store_for_closed_for_long
    kept_slowly
    kept_and_a_connection_breaks
    kept_and_a_late_request_arrives
    kept_by_both
}

/// `AUTO_MUTEX_SEED=n` repeats one way, `AUTO_MUTEX_RUNS=n` goes more.
#[test]
fn random_ways_through_large_runs() {
    for seed in seeds(100) {
        let run = Setup::new(random::rules(seed));
        if let Some((broken, way)) = stroll(&run, seed, 1000) {
            println!("As a test: replays(&Setup::new(random::rules({seed})), &{way:?});");
            panic!("AUTO_MUTEX_SEED={seed}: {broken}");
        }
    }
}

#[test]
fn each_assumption_is_needed() {
    for (assumption, rules, property) in assumptions() {
        let run = Setup::new(rules);
        let way = refute(run.clone(), property);
        let way = way.unwrap_or_else(|| panic!("{assumption}: {property} holds without it"));
        println!("without \"{assumption}\": {way:?}");
        assert!(replay(&run, &way).contains(property), "{assumption}");
    }
}

/// With its fault in the code, each of these ways breaks a property.
#[test]
fn ways_of_counterexamples_hold() {
    for (fault, name, way) in counterexamples() {
        println!("{fault}");
        replays(&run(name), &way);
    }
}
