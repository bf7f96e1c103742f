//! Why each rule is needed: without it, some property no longer holds.

use super::holding::{lawless, short};
use crate::properties::{
    CAPACITY, EXCLUSION, KEPT, ORDER, REGISTER, RELEASED, SERVICE, TOKENS, WRITES,
};
use crate::rules::{Faults, Rules, Safeguard};

/// A run that breaks a property, which the checker must notice.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The rule or assumption that the run leaves out.
    pub name: &'static str,
    /// The rules of the run.
    pub rules: Rules,
    /// The property that no longer holds.
    pub property: &'static str,
}

fn without(
    safeguard: Safeguard,
    name: &'static str,
    property: &'static str,
    rules: Rules,
) -> Broken {
    Broken {
        name,
        property,
        rules: Rules {
            without: Some(safeguard),
            symmetric: false,
            service: property == SERVICE,
            ..rules
        },
    }
}

/// Returns runs that each leave out one rule.
#[must_use]
pub fn removals() -> Vec<Broken> {
    let breaks = |rules| Rules {
        faults: Faults::default().breaks(1),
        ..rules
    };
    let restarts = |rules| Rules {
        faults: Faults::default().restarts(1),
        ..rules
    };
    let twice = |rules| Rules { calls: 2, ..rules };
    let slips = Rules {
        slips: 1,
        ..Rules::new(2)
    };
    vec![
        without(
            Safeguard::HolderCheck,
            "queue check: the store does not look whether somebody holds",
            CAPACITY,
            short(2),
        ),
        without(
            Safeguard::QueueCheck,
            "queue check: the store does not look whether somebody is before",
            ORDER,
            short(3),
        ),
        without(
            Safeguard::FreshGrant,
            "fresh grant: a message counts from its arrival, whatever counter it names",
            EXCLUSION,
            twice(Rules::new(2)),
        ),
        without(
            Safeguard::WaitingTicket,
            "fresh grant: a message is believed for a ticket that does not wait any more",
            EXCLUSION,
            Rules {
                cancels: true,
                ..short(3)
            },
        ),
        without(
            Safeguard::Idempotence,
            "ticket idempotence: an acquire that is sent again is another one",
            RELEASED,
            breaks(short(1)),
        ),
        without(
            Safeguard::Tombstone,
            "ticket idempotence: a release leaves no tombstone for late copies",
            RELEASED,
            breaks(short(1)),
        ),
        without(
            Safeguard::TouchCreatesNothing,
            "ticket idempotence: a touch of an unknown ticket queues it",
            RELEASED,
            breaks(short(1)),
        ),
        without(
            Safeguard::SendingTime,
            "conservative deadline: a reply counts from its arrival",
            EXCLUSION,
            short(2),
        ),
        without(
            Safeguard::Allowance,
            "conservative deadline: nothing is taken off for slow clocks",
            EXCLUSION,
            slips,
        ),
        without(
            Safeguard::RestartGuard,
            "restart guard: a store without its data grants at once",
            EXCLUSION,
            restarts(short(2)),
        ),
        without(
            Safeguard::LastToken,
            "tokens: the server's time alone",
            TOKENS,
            short(2),
        ),
        without(
            Safeguard::ServerTime,
            "tokens: the last one alone, which a restart forgets",
            REGISTER,
            lawless(2),
        ),
        without(
            Safeguard::Fence,
            "fence: the register takes every write",
            REGISTER,
            Rules {
                register: true,
                ..short(2)
            },
        ),
        without(
            Safeguard::SameToken,
            "renewal: a hold goes on under a grant that is not its own",
            WRITES,
            Rules {
                register: true,
                ..twice(short(2))
            },
        ),
        without(
            Safeguard::OlderAnswer,
            "answers: one that is older than the grant counts",
            KEPT,
            twice(short(2)),
        ),
        without(
            Safeguard::Claim,
            "provisional grant: one that nobody has claimed has a full lease",
            SERVICE,
            Rules {
                faults: Faults::default().crashes(1),
                lease: 5,
                place: 5,
                ..short(2)
            },
        ),
        without(
            Safeguard::LeftAlone,
            "members disagree whether the store is open: what is not claimed goes back at once",
            EXCLUSION,
            Rules {
                faults: Faults::default().doubts(1),
                // With these durations, a ticket whose grant is withdrawn has already lost its place, so two members
                // are enough to break the property.
                claim: 2,
                place: 1,
                ..twice(short(2))
            },
        ),
        without(
            Safeguard::PlaceEnds,
            "place: a silent waiter keeps it for ever",
            SERVICE,
            Rules {
                faults: Faults::default().crashes(1),
                ..short(2)
            },
        ),
    ]
}
