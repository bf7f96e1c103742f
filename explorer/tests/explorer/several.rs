//! Every property of calls for several names holds in every state of the runs.

use auto_mutex_explorer::several::{Rules, all};

fn run(name: &str) -> Rules {
    let run = all().into_iter().find(|run| run.name == name);
    run.unwrap_or_else(|| panic!("{name} is no run")).rules
}

runs! {
    two_calls_for_two_names
    two_calls_for_two_names_twice
    two_calls_for_three_names
    three_calls_for_two_names
    two_calls_and_an_operator
    calls_of_tasks_that_have_a_name_already
    two_calls_that_poll_and_are_refused
    two_calls_that_do_not_wait;
    three_calls_for_three_names
}
