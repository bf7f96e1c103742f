//! The runs of seats in which every property holds, and those that show what they rest on.

use super::rules::{Bodies, Faults, Rules};
use crate::check::{Run, large, small};

const NONE: Faults = Faults::NONE;

/// Two processes whose renewals may fail and whose bodies may hang. Overruns abort.
fn aborting(faults: Faults) -> Rules {
    Rules {
        faults,
        ..Rules::new(2)
    }
}

/// Every body ends in time, and overruns would be logged.
fn in_time(faults: Faults) -> Rules {
    Rules {
        bodies: Bodies::InTime,
        aborts: None,
        ..aborting(faults)
    }
}

/// Renewals succeed while a process runs and reaches the store. Bodies may hang, and overruns are logged.
fn logged(faults: Faults) -> Rules {
    Rules {
        slow: false,
        aborts: None,
        assumed: false,
        ..aborting(faults)
    }
}

/// All runs.
pub fn all() -> Vec<Run<Rules>> {
    vec![
        small("seats_whose_bodies_hang", aborting(NONE)),
        small(
            "one_seat_of_two_is_suspended",
            aborting(Faults {
                suspends: 1,
                ..NONE
            }),
        ),
        small(
            "one_seat_of_two_is_cut_off",
            aborting(Faults { cuts: 1, ..NONE }),
        ),
        small(
            "one_seat_of_two_is_killed",
            aborting(Faults { kills: 1, ..NONE }),
        ),
        small(
            "seats_whose_store_loses_its_data",
            aborting(Faults {
                restarts: 1,
                ..NONE
            }),
        ),
        small(
            "seats_whose_bodies_make_progress",
            Rules {
                progress: 2,
                ..aborting(NONE)
            },
        ),
        small("seats_whose_bodies_end_in_time", in_time(NONE)),
        small(
            "seats_that_are_not_aborted",
            Rules {
                aborts: Some(1),
                ..in_time(NONE)
            },
        ),
        small(
            "seats_whose_bodies_return_or_resign",
            Rules {
                returns: true,
                resigns: true,
                ..in_time(Faults { drains: 1, ..NONE })
            },
        ),
        small(
            "seats_that_get_no_answer",
            Rules {
                store_timeout: 1,
                ..in_time(Faults { cuts: 1, ..NONE })
            },
        ),
        small(
            "seats_whose_bodies_hang_and_are_followed",
            Rules {
                progress: 2,
                resigns: true,
                returns: true,
                ..logged(Faults {
                    kills: 1,
                    drains: 1,
                    ..NONE
                })
            },
        ),
        small(
            "seats_whose_lock_is_forced",
            Rules {
                progress: 2,
                ..logged(Faults {
                    suspends: 1,
                    forces: 1,
                    ..NONE
                })
            },
        ),
        small(
            "three_seats",
            Rules {
                seats: 3,
                slow: false,
                returns: true,
                resigns: true,
                ..in_time(Faults {
                    kills: 1,
                    cuts: 1,
                    ..NONE
                })
            },
        ),
        large(
            "one_seat_is_suspended_and_one_cut_off",
            aborting(Faults {
                suspends: 1,
                cuts: 1,
                ..NONE
            }),
        ),
        large(
            "one_seat_is_suspended_and_the_store_loses_its_data",
            Rules {
                progress: 2,
                ..aborting(Faults {
                    suspends: 1,
                    restarts: 1,
                    ..NONE
                })
            },
        ),
        large(
            "one_seat_is_killed_and_one_cut_off_and_the_store_loses_its_data",
            aborting(Faults {
                kills: 1,
                cuts: 1,
                restarts: 1,
                ..NONE
            }),
        ),
        large(
            "seats_return_or_resign_and_the_store_loses_its_data",
            Rules {
                returns: true,
                resigns: true,
                ..in_time(Faults {
                    drains: 1,
                    cuts: 1,
                    restarts: 1,
                    ..NONE
                })
            },
        ),
    ]
}

/// Each drops one assumption. Then two bodies run.
pub fn assumptions() -> Vec<(&'static str, Rules)> {
    vec![
        (
            "overruns abort, or every body ends in time",
            Rules {
                aborts: None,
                ..aborting(NONE)
            },
        ),
        (
            "overruns abort, or no process is suspended",
            Rules {
                lease: 4,
                stop_within: 2,
                ..in_time(Faults {
                    suspends: 1,
                    ..NONE
                })
            },
        ),
        (
            "a process acts within the allowance",
            Rules {
                aborts: Some(0),
                ..aborting(NONE)
            },
        ),
        (
            "nobody breaks the lock",
            aborting(Faults { forces: 1, ..NONE }),
        ),
    ]
}
