//! The list of runs.

use super::rules::Rules;
#[cfg(feature = "checker")]
use super::rules::Safeguard;

/// Each task belongs to its own member.
const APART: &[u8] = &[0, 1, 2];
/// The first task has its own member. The other two share one.
const SHARED: &[u8] = &[0, 1, 1];

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
        one_victim: false,
        ..semaphore()
    }
}

/// Returns the runs in which every rule is in force, and every property holds.
#[must_use]
pub fn runs() -> Vec<Run> {
    let run = |name, rules| Run { name, rules };
    vec![
        run(
            "2 tasks lose holds; tickets are parked",
            Rules {
                losses: true,
                parks: true,
                ..pair()
            },
        ),
        run(
            "2 tasks give up and lose holds, one member dies; answers are duplicated",
            Rules {
                cancels: true,
                losses: true,
                deaths: 1,
                copies: true,
                ..pair()
            },
        ),
        run(
            "2 tasks of one member give up and lose holds; handoff; answers are duplicated",
            Rules {
                handoff: true,
                cancels: true,
                losses: true,
                copies: true,
                ..Rules::new(&[0, 0], &[1, 1])
            },
        ),
        run("3 tasks, 3 mutexes", mutexes()),
        run(
            "3 tasks, 3 mutexes, one member dies",
            Rules {
                deaths: 1,
                ..mutexes()
            },
        ),
        run(
            "3 tasks, 2 of them of one member; they give up; handoff",
            Rules {
                cancels: true,
                ..shared()
            },
        ),
        run(
            "3 tasks, 2 of them of one member; they lose holds; handoff",
            Rules {
                losses: true,
                ..shared()
            },
        ),
        run("3 tasks, a semaphore of 2 and a mutex", semaphore()),
        run(
            "3 tasks, a semaphore of 2 and a mutex, one member dies",
            Rules {
                deaths: 1,
                ..semaphore()
            },
        ),
        run("3 tasks, a readers-writer lock and a mutex", writers()),
    ]
}

/// Returns the runs that each leave out one rule, and one that drops an assumption.
#[cfg(feature = "checker")]
#[must_use]
pub fn broken() -> Vec<Broken> {
    use super::properties::{ONE, TRUE};

    let without = |without: &'static [Safeguard], name, property, rules| Broken {
        name,
        property,
        rules: Rules { without, ..rules },
    };
    vec![
        without(
            &[Safeguard::TwoRounds],
            "a second round must find the same",
            TRUE,
            mutexes(),
        ),
        without(
            &[Safeguard::WaitIds],
            "waits have identities of their own; they are compared by their tickets",
            TRUE,
            Rules {
                cancels: true,
                ..shared()
            },
        ),
        without(
            &[Safeguard::WaitIds, Safeguard::Tokens],
            "tokens are compared, and waits have identities of their own",
            TRUE,
            Rules {
                losses: true,
                ..shared()
            },
        ),
        without(
            &[Safeguard::RoundNumber],
            "an answer counts only in its own round",
            TRUE,
            Rules {
                cancels: true,
                copies: true,
                ..pair()
            },
        ),
        without(
            &[Safeguard::HeldNow],
            "a ticket that its task does not hold any more is free",
            TRUE,
            Rules {
                losses: true,
                parks: true,
                ..pair()
            },
        ),
        without(
            &[Safeguard::Silence],
            "a member that does not answer holds up nobody",
            TRUE,
            Rules {
                deaths: 1,
                ..pair()
            },
        ),
        without(
            &[Safeguard::OtherUnits],
            "units that other holders may give back are counted",
            TRUE,
            semaphore(),
        ),
        without(
            &[Safeguard::WaiterAsked],
            "an earlier waiter counts only if its member says that it waits",
            TRUE,
            Rules {
                deaths: 1,
                ..writers()
            },
        ),
        without(
            &[Safeguard::AllEntangled],
            "the victim is chosen among all that wait for each other",
            ONE,
            semaphore(),
        ),
        without(
            &[Safeguard::AllAnswers],
            "a search that lacks an answer is repeated",
            ONE,
            Rules {
                one_victim: true,
                ..writers()
            },
        ),
        without(
            &[],
            "all requests of a name are for the same units",
            ONE,
            Rules {
                one_victim: true,
                ..writers()
            },
        ),
    ]
}
