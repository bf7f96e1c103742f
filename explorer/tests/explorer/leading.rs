//! Leading: every property holds in every state of the runs, and each run reaches what it must.

use auto_mutex_explorer::check::{refute, replay};
use auto_mutex_explorer::leading::properties::ONE;
use auto_mutex_explorer::leading::rules::Setup;
use auto_mutex_explorer::leading::runs::{all, assumptions};

fn run(name: &str) -> Setup {
    let run = all().into_iter().find(|run| run.name == name);
    Setup::new(run.unwrap_or_else(|| panic!("{name} is no run")).rules)
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
    one_seat_is_suspended_and_one_cut_off
    one_seat_is_suspended_and_the_store_loses_its_data
    one_seat_is_killed_and_one_cut_off_and_the_store_loses_its_data
    seats_return_or_resign_and_the_store_loses_its_data
}

#[test]
fn each_assumption_of_leading_is_needed() {
    for (assumption, rules) in assumptions() {
        let run = Setup::new(rules);
        let way = refute(run.clone(), ONE);
        let way = way.unwrap_or_else(|| panic!("{assumption}: {ONE} holds without it"));
        println!("without \"{assumption}\": {way:?}");
        assert!(replay(&run, &way).contains(ONE), "{assumption}");
    }
}
