//! The runs.

use auto_mutex_protocol::Share;
use auto_mutex_protocol::client::Patience;

use super::Rules;
use crate::name::rules::{self, Clocks, Mishaps, Setup};

/// A run in which every property holds.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name, and that of its test.
    pub name: &'static str,
    /// Its rules.
    pub rules: Rules,
    /// It takes minutes, and some GB.
    pub large: bool,
}

/// Clients that call once for two names.
fn of(clients: u8, mishaps: Mishaps) -> Rules {
    Rules {
        names: 2,
        calls: 1,
        patience: Patience::Queue(None),
        name: Setup::new(rules::Rules {
            // One for each client: no client takes the place of another one, because its call is the same at all names.
            shares: vec![Share::MUTEX; clients.into()],
            clocks: Clocks::Frozen,
            mishaps,
            prompt: true,
            // A call asks for all names at once.
            pipeline: 4,
            ..rules::Rules::new(clients)
        }),
    }
}

/// The runs.
pub fn all() -> Vec<Run> {
    let run = |name, rules| Run {
        name,
        rules,
        large: false,
    };
    let forces = Mishaps {
        forces: 1,
        ..Mishaps::NONE
    };
    vec![
        run("two_calls_for_two_names", of(2, Mishaps::NONE)),
        run(
            "two_calls_for_two_names_twice",
            Rules {
                calls: 2,
                ..of(2, Mishaps::NONE)
            },
        ),
        run(
            "two_calls_for_three_names",
            Rules {
                names: 3,
                ..of(2, Mishaps::NONE)
            },
        ),
        run("three_calls_for_two_names", of(3, Mishaps::NONE)),
        run("two_calls_and_an_operator", of(2, forces)),
        run(
            "two_calls_that_do_not_wait",
            Rules {
                calls: 2,
                patience: Patience::NONE,
                ..of(2, Mishaps::NONE)
            },
        ),
        Run {
            name: "three_calls_for_three_names",
            rules: Rules {
                names: 3,
                ..of(3, Mishaps::NONE)
            },
            large: true,
        },
    ]
}
