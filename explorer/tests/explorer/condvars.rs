//! Every property of condition variables holds in every state of the runs.

use auto_mutex_explorer::condvar::{Rules, all};

fn run(name: &str) -> Rules {
    let run = all().into_iter().find(|run| run.name == name);
    run.unwrap_or_else(|| panic!("{name} is no run")).rules
}

runs! {
    one_waits_until_there_is_something
    one_of_two_waiters_gives_up;
}
