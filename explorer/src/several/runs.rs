//! The runs.

use core::time::Duration;

use auto_mutex_protocol::Share;
use auto_mutex_protocol::client::Patience;

use super::Rules;
use crate::check::{Run, large, small};
use crate::name::rules::{self, Clocks, Mishaps, Setup};

/// Clients that call once for two names.
fn of(clients: u8, mishaps: Mishaps) -> Rules {
    Rules {
        names: 2,
        calls: 1,
        patience: Patience::Queue(None),
        nested: false,
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
pub fn all() -> Vec<Run<Rules>> {
    let forces = Mishaps {
        forces: 1,
        ..Mishaps::default()
    };
    let errors = Mishaps {
        errors: 1,
        ..Mishaps::default()
    };
    vec![
        small("two_calls_for_two_names", of(2, Mishaps::default())),
        small(
            "two_calls_for_two_names_twice",
            Rules {
                calls: 2,
                ..of(2, Mishaps::default())
            },
        ),
        small(
            "two_calls_for_three_names",
            Rules {
                names: 3,
                ..of(2, Mishaps::default())
            },
        ),
        small("three_calls_for_two_names", of(3, Mishaps::default())),
        small("two_calls_and_an_operator", of(2, forces)),
        small(
            "calls_of_tasks_that_have_a_name_already",
            Rules {
                nested: true,
                patience: Patience::NONE,
                ..of(2, forces)
            },
        ),
        small(
            "two_calls_that_poll_and_are_refused",
            Rules {
                patience: Patience::Poll {
                    retries: 1,
                    interval: Duration::ZERO,
                    block: None,
                },
                ..of(2, errors)
            },
        ),
        small(
            "two_calls_that_do_not_wait",
            Rules {
                calls: 2,
                patience: Patience::NONE,
                ..of(2, Mishaps::default())
            },
        ),
        large(
            "three_calls_for_three_names",
            Rules {
                names: 3,
                ..of(3, Mishaps::default())
            },
        ),
    ]
}
