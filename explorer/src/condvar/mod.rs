//! Condition variables: calls that hold a mutex wait for signals at a second name. Both names are
//! [`World`](crate::name::world::World)s. What is here is what the shell does for `wait` and `notify_one`, and what
//! their callers do: they make things under the mutex, and wait until there is one.

mod properties;
mod world;

pub use self::properties::{EXCLUSION, NOT_LOST};
pub use self::world::{Action, World};

use auto_mutex_protocol::Share;

use crate::check::{Run, small};
use crate::name::rules::{self, Clocks, Setup};

/// A run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How many clients wait until there is something.
    pub takers: u8,
    /// How many clients make something, once.
    pub makers: u8,
    /// How many calls may give up.
    pub cancels: u8,
    /// The rules of the mutex.
    pub mutex: Setup,
    /// The rules of the name of the signals.
    pub signals: Setup,
}

fn of(takers: u8, makers: u8, cancels: u8) -> Rules {
    let of = |share| {
        let clients = takers + makers;
        Setup::new(rules::Rules {
            // One for each client, because they are not alike.
            shares: vec![share; clients.into()],
            clocks: Clocks::Frozen,
            prompt: true,
            ..rules::Rules::new(clients)
        })
    };
    Rules {
        takers,
        makers,
        cancels,
        mutex: of(Share::MUTEX),
        signals: of(Share::NOTIFICATION),
    }
}

/// The runs.
pub fn all() -> Vec<Run<Rules>> {
    vec![
        small("one_waits_until_there_is_something", of(1, 1, 1)),
        small("one_of_two_waiters_gives_up", of(2, 1, 1)),
    ]
}

crate::check::model!(Rules, World, Action, properties::all);
