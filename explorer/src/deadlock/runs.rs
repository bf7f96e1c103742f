//! The runs in which every property holds, and one that shows what they rest on.

use super::rules::Rules;
use crate::check::{Run, large, small};

/// Each task belongs to its own member.
const APART: &[u8] = &[0, 1, 2];
/// The first task has its own member. The other two share one.
const SHARED: &[u8] = &[0, 1, 1];

fn pair() -> Rules {
    Rules::new(&[0, 1], &[1, 1])
}

fn mutexes() -> Rules {
    Rules::new(APART, &[1, 1, 1])
}

fn semaphore() -> Rules {
    Rules::new(APART, &[2, 1])
}

fn shared() -> Rules {
    Rules {
        handoff: true,
        ..Rules::new(SHARED, &[1, 1])
    }
}

fn writers() -> Rules {
    Rules {
        writers: true,
        ..semaphore()
    }
}

fn patient(rules: Rules) -> Rules {
    Rules {
        patient: true,
        ..rules
    }
}

/// All runs.
pub fn all() -> Vec<Run<Rules>> {
    vec![
        small(
            "two_tasks_lose_holds_that_stay",
            Rules {
                losses: true,
                parks: true,
                ..pair()
            },
        ),
        small(
            "two_tasks_give_up_and_one_dies",
            Rules {
                cancels: true,
                losses: true,
                deaths: 1,
                copies: true,
                ..pair()
            },
        ),
        small(
            "two_tasks_of_one_client",
            Rules {
                handoff: true,
                cancels: true,
                losses: true,
                copies: true,
                ..Rules::new(&[0, 0], &[1, 1])
            },
        ),
        small("three_mutexes", mutexes()),
        small(
            "three_mutexes_and_one_client_dies",
            Rules {
                deaths: 1,
                ..mutexes()
            },
        ),
        large(
            "three_mutexes_and_tasks_give_up",
            Rules {
                cancels: true,
                ..mutexes()
            },
        ),
        small(
            "two_of_three_tasks_share_a_client_and_give_up",
            Rules {
                cancels: true,
                ..shared()
            },
        ),
        small(
            "two_of_three_tasks_share_a_client_and_lose_holds",
            Rules {
                losses: true,
                ..shared()
            },
        ),
        small("a_semaphore_and_a_mutex", patient(semaphore())),
        small(
            "a_semaphore_and_a_mutex_and_one_client_dies",
            Rules {
                deaths: 1,
                ..semaphore()
            },
        ),
        small("a_readers_writer_lock_and_a_mutex", writers()),
        small(
            "a_readers_writer_lock_and_nobody_begins_to_wait",
            Rules {
                still: true,
                ..patient(writers())
            },
        ),
        small(
            "a_readers_writer_lock_and_a_mutex_and_one_client_dies",
            Rules {
                deaths: 1,
                ..writers()
            },
        ),
    ]
}

/// A run of which some property does not hold: requests of a name are for different units.
pub fn different_units() -> Rules {
    patient(writers())
}
