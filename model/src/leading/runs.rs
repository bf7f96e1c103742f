//! The list of runs.

#[cfg(feature = "checker")]
use super::rules::Safeguard;
use super::rules::{Bodies, Faults, Rules};

/// A run with every rule in force.
#[derive(Clone, Debug)]
pub struct Run {
    /// What happens in the run.
    pub name: &'static str,
    /// The rules of the run.
    pub rules: Rules,
}

/// A run that breaks a property.
#[cfg(feature = "checker")]
#[derive(Clone, Debug)]
pub struct Broken {
    /// The rule or assumption that the run leaves out.
    pub name: &'static str,
    /// The rules of the run.
    pub rules: Rules,
    /// The property that no longer holds.
    pub property: &'static str,
}

fn faults() -> Faults {
    Faults::default()
}

/// Two processes, whose renewals may fail and whose bodies may hang. Overruns abort.
fn aborting(faults: Faults) -> Rules {
    Rules {
        faults,
        ..Rules::new(2)
    }
}

/// Like [`aborting`], but overruns are logged, and every body ends in time.
fn in_time(faults: Faults) -> Rules {
    Rules {
        bodies: Bodies::InTime,
        aborts: false,
        ..aborting(faults)
    }
}

/// Two processes whose renewals succeed while they run and reach the store. Overruns are logged.
fn logged(faults: Faults) -> Rules {
    Rules {
        prompt: true,
        aborts: false,
        assumed: false,
        resigns: true,
        ..aborting(faults)
    }
}

/// Returns the runs in which every rule is in force, and every property holds.
#[must_use]
pub fn runs() -> Vec<Run> {
    let run = |name, rules| Run { name, rules };
    vec![
        run(
            "2 seats, bodies hang, overruns abort; one process is suspended, one cut off",
            aborting(Faults {
                suspends: 1,
                cuts: 1,
                ..faults()
            }),
        ),
        run(
            "2 seats, bodies hang or make progress, overruns abort; one process is suspended, the store loses its data",
            Rules {
                progress: 2,
                ..aborting(Faults {
                    suspends: 1,
                    restarts: 1,
                    ..faults()
                })
            },
        ),
        run(
            "2 seats, bodies hang, overruns abort; one process is killed, one cut off, the store loses its data",
            aborting(Faults {
                kills: 1,
                cuts: 1,
                restarts: 1,
                ..faults()
            }),
        ),
        run(
            "2 seats, bodies end in time or return, leaders resign; one process is cut off, one drains, the store loses its data",
            Rules {
                returns: true,
                resigns: true,
                ..in_time(Faults {
                    drains: 1,
                    cuts: 1,
                    restarts: 1,
                    ..faults()
                })
            },
        ),
        run(
            "2 seats, bodies hang, make progress or return, leaders resign, overruns are logged; one process drains, one is killed",
            Rules {
                progress: 2,
                returns: true,
                ..logged(Faults {
                    kills: 1,
                    drains: 1,
                    ..faults()
                })
            },
        ),
        run(
            "2 seats, bodies hang, overruns are logged; somebody breaks the lock, one process is suspended",
            Rules {
                progress: 2,
                resigns: false,
                ..logged(Faults {
                    suspends: 1,
                    forces: 1,
                    ..faults()
                })
            },
        ),
        run(
            "3 seats, bodies end in time or return, leaders resign; one process is killed, one cut off",
            Rules {
                seats: 3,
                prompt: true,
                returns: true,
                resigns: true,
                ..in_time(Faults {
                    kills: 1,
                    cuts: 1,
                    ..faults()
                })
            },
        ),
    ]
}

#[cfg(feature = "checker")]
fn run(name: &'static str, property: &'static str, rules: Rules) -> Broken {
    Broken {
        name,
        rules,
        property,
    }
}

/// Returns the runs that each leave out one rule.
#[cfg(feature = "checker")]
#[must_use]
pub fn broken() -> Vec<Broken> {
    use super::properties::{
        BODY_FIRST, CHECK, ERRORS, HUNG, IN_TIME, NUMBERS, ONE, STANDS, TURNS,
    };

    let without = |without, name, property, rules| {
        let without = Some(without);
        run(name, property, Rules { without, ..rules })
    };
    let suspended = || {
        aborting(Faults {
            suspends: 1,
            ..faults()
        })
    };
    let hanging = || Rules {
        progress: 2,
        ..logged(faults())
    };
    vec![
        without(
            Safeguard::TellEarly,
            "the body is told at validity - stop_within",
            ONE,
            in_time(faults()),
        ),
        without(
            Safeguard::TellEarly,
            "the body is told at validity - stop_within (overruns abort)",
            IN_TIME,
            Rules {
                aborts: true,
                ..in_time(faults())
            },
        ),
        without(
            Safeguard::StaysOver,
            "a term that is over stays over",
            ERRORS,
            in_time(faults()),
        ),
        without(
            Safeguard::ReleaseAfterEnd,
            "the lock is released after the body has ended",
            BODY_FIRST,
            logged(faults()),
        ),
        without(
            Safeguard::RenewUntilEnd,
            "the lease is renewed until the body has ended",
            BODY_FIRST,
            logged(faults()),
        ),
        without(
            Safeguard::GiveUp,
            "a hung overrun gives the lock up",
            HUNG,
            hanging(),
        ),
        without(
            Safeguard::WhateverFor,
            "a hung overrun gives the lock up, whatever its term ended for",
            HUNG,
            hanging(),
        ),
        without(
            Safeguard::OverrunAtValidity,
            "a body is an overrun at the end of the validity, however late it was told",
            ONE,
            suspended(),
        ),
        without(
            Safeguard::Watchdog,
            "the watchdog does not depend on the body's thread",
            ONE,
            aborting(faults()),
        ),
        without(
            Safeguard::CheckReadsClock,
            "check() compares the clock",
            CHECK,
            suspended(),
        ),
        without(
            Safeguard::BeginInTime,
            "a body begins only if its term is not over",
            ONE,
            suspended(),
        ),
        without(
            Safeguard::BackOfQueue,
            "a seat stands again at the back of the queue",
            TURNS,
            Rules {
                resigns: true,
                ..in_time(faults())
            },
        ),
        without(
            Safeguard::StandsAgain,
            "a seat stands again after a loss or an outage",
            STANDS,
            in_time(faults()),
        ),
        without(
            Safeguard::LostError,
            "an error after the loss does not end the lead",
            ERRORS,
            in_time(faults()),
        ),
        without(
            Safeguard::NumberIsToken,
            "the number of a term is its fencing token",
            NUMBERS,
            in_time(Faults {
                restarts: 1,
                ..faults()
            }),
        ),
    ]
}

/// Returns the runs that each drop an assumption, or an option.
#[cfg(feature = "checker")]
#[must_use]
pub fn limits() -> Vec<Broken> {
    use super::properties::ONE;

    vec![
        run(
            "overruns abort, or every body ends in time",
            ONE,
            Rules {
                aborts: false,
                ..aborting(faults())
            },
        ),
        run(
            "overruns abort, or no process is suspended",
            ONE,
            in_time(Faults {
                suspends: 1,
                ..faults()
            }),
        ),
        run(
            "the process acts within the allowance",
            ONE,
            Rules {
                allowance: 0,
                ..aborting(faults())
            },
        ),
        run(
            "nobody breaks the lock",
            ONE,
            aborting(Faults {
                forces: 1,
                ..faults()
            }),
        ),
    ]
}
