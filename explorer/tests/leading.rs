//! Leading: every property holds in every state of the runs, and each run reaches what it must.

use auto_mutex_explorer::check::{explore, refute, replay};
use auto_mutex_explorer::leading::Action;
use auto_mutex_explorer::leading::properties::ONE;
use auto_mutex_explorer::leading::rules::Setup;
use auto_mutex_explorer::leading::runs::{all, assumptions};

fn steps(way: &[Action]) -> String {
    let steps: Vec<_> = way.iter().map(ToString::to_string).collect();
    steps.join("; ")
}

fn holds(name: &str) {
    let run = all().into_iter().find(|run| run.name == name);
    let run = run.unwrap_or_else(|| panic!("{name} is no run"));
    let outcome = explore(Setup::new(run.rules));
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
            assert_eq!(names(false), [$(stringify!($small)),*] as [&str; _]);
            assert_eq!(names(true), [$(stringify!($large)),*] as [&str; _]);
        }
    };
}

runs! {
    seats_whose_bodies_hang
    one_seat_of_two_is_suspended
    one_seat_of_two_is_cut_off
    one_seat_of_two_is_killed
    seats_whose_store_loses_its_data
    seats_whose_bodies_make_progress
    seats_whose_bodies_end_in_time
    seats_that_are_not_aborted
    seats_whose_bodies_return_or_resign
    seats_that_get_no_answer
    seats_whose_bodies_hang_and_are_followed
    seats_whose_lock_is_forced
    three_seats;
}

#[test]
fn each_assumption_of_leading_is_needed() {
    for (assumption, rules) in assumptions() {
        let run = Setup::new(rules);
        let way = refute(run.clone(), ONE);
        let way = way.unwrap_or_else(|| panic!("{assumption}: {ONE} holds without it"));
        println!("without \"{assumption}\": {}", steps(&way));
        assert!(replay(&run, &way).contains(ONE), "{assumption}");
    }
}
