//! Why each rule is needed: without it, some property no longer holds.

use super::holding::{kept, kept_by_one, kept_on, lawless, short};
use crate::properties::{
    CALLS, CAPACITY, EXCLUSION, KEPT, ORDER, REGISTER, RELEASED, SERVICE, SHORT, TOKENS, WRITES,
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
    let mut removals = plain();
    removals.extend(keeping());
    removals
}

/// The rules for locks that members keep between calls.
fn keeping() -> Vec<Broken> {
    let any_time = Rules {
        prompt: false,
        ..kept_by_one()
    };
    let few_tokens = Rules {
        numbers: 1,
        ..kept_by_one()
    };
    vec![
        without(
            Safeguard::CutFirst,
            "kept: when the lease becomes short, the member's validity does not",
            EXCLUSION,
            kept_by_one(),
        ),
        without(
            Safeguard::LateAnswer,
            "kept: an answer to a touch from before the short lease counts",
            EXCLUSION,
            any_time,
        ),
        without(
            Safeguard::OlderRequest,
            "kept: a late request makes a lease short again",
            EXCLUSION,
            Rules {
                faults: Faults::default().breaks(1),
                ..kept_by_one()
            },
        ),
        without(
            Safeguard::ShortLease,
            "kept: the lease stays as long as that of a call",
            SHORT,
            Rules {
                faults: Faults::default().crashes(1),
                ..kept(1)
            },
        ),
        without(
            Safeguard::ValidEntry,
            "kept: a call enters without a look at the clock",
            EXCLUSION,
            kept_by_one(),
        ),
        without(
            Safeguard::Recall,
            "kept: a recall goes unheard",
            SERVICE,
            kept_on(),
        ),
        without(
            Safeguard::RecallAgain,
            "kept: a touch of a waiter recalls nobody",
            SERVICE,
            Rules {
                faults: Faults::default().losses(1),
                ..kept_on()
            },
        ),
        without(
            Safeguard::TouchToken,
            "kept: a new token of a touch is not the last of the name",
            CALLS,
            few_tokens.clone(),
        ),
        without(
            Safeguard::TokenRange,
            "kept: calls go on counting when their tokens have run out",
            CALLS,
            few_tokens,
        ),
        without(
            Safeguard::NewToken,
            "kept: a new token counts after the validity has ended",
            WRITES,
            Rules {
                register: true,
                ..kept_by_one()
            },
        ),
    ]
}

fn plain() -> Vec<Broken> {
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
