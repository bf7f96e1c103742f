//! The assumptions behind the properties: each run drops one, and names the property that no longer holds.

use super::Broken;
use super::holding::short;
use crate::properties::{EXCLUSION, REGISTER, RELEASED};
use crate::rules::{Faults, Rules};

/// Returns runs that each drop one assumption; every rule is in force.
#[must_use]
pub fn limits() -> Vec<Broken> {
    let limit = |name, property, rules| Broken {
        name,
        property,
        rules: Rules {
            symmetric: false,
            ..rules
        },
    };
    vec![
        limit(
            "a clock loses more than the allowance within a lease",
            EXCLUSION,
            Rules {
                slips: 2,
                ..Rules::new(2)
            },
        ),
        limit(
            "a lease is longer than the store stays closed for after a restart",
            EXCLUSION,
            Rules {
                closed: 1,
                faults: Faults::default().restarts(1),
                ..short(2)
            },
        ),
        limit(
            "a late copy comes when the tombstone is over",
            RELEASED,
            Rules {
                tomb: 1,
                late: 2,
                faults: Faults::default().breaks(1),
                ..short(1)
            },
        ),
        limit(
            "data are lost, and the server's clock is behind the last token",
            REGISTER,
            Rules {
                register: true,
                faults: Faults::default().restarts(1).steps_back(1),
                ..short(2)
            },
        ),
    ]
}
