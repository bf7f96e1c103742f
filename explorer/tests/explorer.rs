//! Every property holds in every state of the runs, and each run reaches what it must. The large ones take minutes, and some
//! GB: `cargo test -p auto-mutex-explorer -- --ignored`.

use auto_mutex_explorer::check::explore;
use auto_mutex_explorer::runs::all;

fn holds(name: &str) {
    let run = all().into_iter().find(|run| run.name == name);
    let run = run.unwrap_or_else(|| panic!("{name} is no run"));
    let outcome = explore(&run.rules);
    let (states, depth, took) = (outcome.states, outcome.depth, outcome.took);
    println!("{states} states, {depth} deep, in {took:.1?}");
    for (property, way) in &outcome.broken {
        let way: Vec<_> = way.iter().map(ToString::to_string).collect();
        println!("{property}: {}", way.join("; "));
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
    calls_give_up_and_messages_come_twice
    messages_are_lost
    clocks_slip
    the_clock_stalls
    a_connection_breaks
    a_client_dies
    a_client_dies_with_a_long_lease
    the_store_loses_its_data
    the_clock_is_stepped_back
    a_client_takes_the_store_for_closed
    tokens_grow_whatever_happens
    kept
    kept_and_renewed
    kept_and_messages_are_lost
    kept_and_a_client_dies;
    two_clients_call_twice_slowly
    three_clients_slowly
    a_replica_takes_over
    a_connection_breaks_slowly
    a_client_takes_the_store_for_closed_for_long
    kept_slowly
    kept_and_a_connection_breaks
    kept_by_both
}
