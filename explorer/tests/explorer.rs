//! Every property holds in every state of the runs, and each run reaches what it must. The large ones take minutes, and some
//! GB: `cargo test -p auto-mutex-explorer -- --ignored`.

use auto_mutex_explorer::check::{explore, refute};
use auto_mutex_explorer::runs::{all, assumptions};
use auto_mutex_explorer::world::Action;

fn steps(way: &[Action]) -> String {
    let steps: Vec<_> = way.iter().map(ToString::to_string).collect();
    steps.join("; ")
}

fn holds(name: &str) {
    let run = all().into_iter().find(|run| run.name == name);
    let run = run.unwrap_or_else(|| panic!("{name} is no run"));
    let outcome = explore(&run.rules);
    let (states, depth, took) = (outcome.states, outcome.depth, outcome.took);
    println!("{states} states, {depth} deep, in {took:.1?}");
    for (property, way) in &outcome.broken {
        println!("{property}: {}", steps(way));
    }
    assert!(outcome.broken.is_empty(), "something does not hold");
    assert!(
        outcome.unseen.is_empty(),
        "no state has {:?}",
        outcome.unseen
    );
}

macro_rules! runs {
    ($($small:ident)*; $($large:ident)*) => {
        $(#[test]
        fn $small() {
            holds(stringify!($small));
        })*

        $(#[test]
        #[ignore = "takes minutes"]
        fn $large() {
            holds(stringify!($large));
        })*

        #[test]
        fn each_run_is_a_test() {
            let names = |large| {
                let runs = all().into_iter().filter(move |run| run.large == large);
                runs.map(|run| run.name).collect::<Vec<_>>()
            };
            assert_eq!(names(false), [$(stringify!($small)),*]);
            assert_eq!(names(true), [$(stringify!($large)),*]);
        }
    };
}

runs! {
    two_clients
    two_clients_call_twice
    two_calls_at_once_and_another_client
    three_clients
    a_semaphore
    a_writer_and_two_readers
    calls_give_up
    calls_give_up_and_messages_come_twice
    messages_are_lost
    clocks_slip
    the_clock_stalls
    a_connection_breaks
    a_client_dies
    a_client_dies_with_a_long_lease
    the_store_loses_its_data
    the_clock_is_stepped_back
    one_client_dies_and_the_clock_is_stepped_back
    a_client_takes_the_store_for_closed
    tokens_grow_whatever_happens
    kept
    kept_for_oneself
    kept_for_oneself_slowly
    kept_for_oneself_and_a_connection_breaks
    kept_and_the_clock_stalls
    kept_and_renewed
    kept_and_messages_are_lost
    kept_and_a_client_dies;
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

#[test]
fn each_assumption_is_needed() {
    for (assumption, rules, property) in assumptions() {
        let way = refute(&rules, property);
        let way = way.unwrap_or_else(|| panic!("{assumption}: {property} holds without it"));
        println!("without \"{assumption}\": {}", steps(&way));
    }
}
