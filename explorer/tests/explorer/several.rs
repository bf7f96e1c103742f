//! Every property of calls for several names holds in every state of the runs.

use auto_mutex_explorer::several::runs;

fn holds(name: &str) {
    let run = runs().into_iter().find(|run| run.name == name);
    let run = run.unwrap_or_else(|| panic!("{name} is no run"));
    super::every_property_holds(name, run.rules);
}

macro_rules! runs {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            holds(stringify!($name));
        })*

        #[test]
        fn each_run_is_a_test() {
            let names: Vec<_> = runs().into_iter().map(|run| run.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

runs! {
    two_calls_for_two_names
    two_calls_for_two_names_twice
    two_calls_for_three_names
    three_calls_for_two_names
    two_calls_and_an_operator
    two_calls_that_do_not_wait
}
