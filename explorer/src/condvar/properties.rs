//! What must hold in every state, and what some state must have.

use stateright::Property;

use super::world::Stage;
use super::{Action, Rules, World};
use crate::name::world::{self, fingerprint};

/// No two clients hold the mutex.
pub const EXCLUSION: &str = "at most one client holds the mutex";
/// Whoever waits is notified, although others that were notified give up.
pub const NOT_LOST: &str = "nobody waits while there is something";

const NOTIFIED: &str = "(possible) a call was notified, and waits for the mutex";
const GAVE_UP: &str = "(possible) a call gives up, and another one waits";

pub(super) fn all(_: &Rules) -> Vec<Property<Rules>> {
    vec![
        Property::always(EXCLUSION, |_, world: &World| {
            let holds = |member: &&world::Member| member.holders().next().is_some();
            world.mutex.members.iter().filter(holds).count() <= 1
        }),
        Property::always(NOT_LOST, |rules, world: &World| {
            // Ways from other states lead through these.
            !fingerprint(world).is_multiple_of(8) || nothing_is_lost(world, rules)
        }),
        Property::sometimes(NOTIFIED, |_, world: &World| {
            let mut clients = world.clients.iter().zip(&world.signals.members);
            clients.any(|(stage, member)| *stage == Stage::Returning && !member.guards.is_empty())
        }),
        Property::sometimes(GAVE_UP, |rules, world: &World| {
            world.cancels < rules.cancels
                && (rules.takers < 2 || world.clients.contains(&Stage::Waiting))
        }),
    ]
}

/// Whether each call ends if nothing goes wrong, unless there is nothing to take.
fn nothing_is_lost(world: &World, rules: &Rules) -> bool {
    let mut world = world.clone();
    let mut actions = Vec::new();
    for _ in 0..200 {
        world.enabled(rules, &mut actions);
        let mut happens = actions
            .drain(..)
            .filter(|it| !matches!(it, Action::Cancel(_)));
        let Some(action) = happens.next() else {
            let waits = |stage: &Stage| *stage != Stage::Over;
            return world.things == 0 || !world.clients.iter().any(waits);
        };
        drop(happens);
        world.happen(action, rules);
        world.canonical(rules);
    }
    false
}
