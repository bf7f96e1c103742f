//! What must hold in every state, and what some state must have.

use stateright::Property;

use super::{Action, Rules, World};
use crate::name::world::{self, fingerprint};

/// No two clients hold a name.
pub const EXCLUSION: &str = "at most one client holds a name";
/// Therefore calls never make a deadlock.
pub const ORDER: &str = "no call waits for a name while it holds a greater one";
/// A call goes inside with all its names.
pub const WHOLE: &str = "a call goes inside with all names";
/// What a call has taken is given back, however it ends.
pub const NOTHING_LEFT: &str = "a client without a call has nothing";
/// A call that fails does not give back what its task had before.
pub const KEEPS_SHARED: &str = "what a task had before a call stays";
/// No call that may wait without an end fails, nor does it wait for ever.
pub const GETS_IN: &str = "every call that waits without an end gets in";

const KEEPS: &str = "(possible) a call waits and holds a smaller name";
const RETRIES: &str = "(possible) a call asks again for what it gave back";

pub(super) fn all(rules: &Rules) -> Vec<Property<Rules>> {
    let mut all = vec![
        Property::always(EXCLUSION, |_, world: &World| {
            let holds = |member: &&world::Member| member.holders().next().is_some();
            let mut names = world.names.iter();
            names.all(|name| name.members.iter().filter(holds).count() <= 1)
        }),
        Property::always(ORDER, |_, world: &World| {
            (0..world.clients.len()).all(|me| {
                let waits_for = waits_for(world, me);
                let mut greater = waits_for.map_or(0, |name| name + 1)..world.names.len();
                waits_for.is_none() || greater.all(|name| world.member(name, me).guards.is_empty())
            })
        }),
        Property::always(WHOLE, |_, world: &World| {
            !world.clients.iter().any(|client| client.entered_without)
        }),
        Property::always(NOTHING_LEFT, |rules: &Rules, world: &World| {
            (0..world.clients.len()).all(|me| {
                // A task may have its own name without a call.
                let is_own = |name: &usize| rules.nested && *name == world.own(me as u8);
                let names = (0..world.names.len()).filter(|name| !is_own(name));
                let mut names = names.map(|name| world.member(name, me));
                world.clients[me].call.is_some()
                    || names.all(|member| {
                        let waiting = member.state.waiters().chain(member.state.attempts());
                        member.guards.is_empty() && waiting.count() == 0
                    })
            })
        }),
        Property::always(KEEPS_SHARED, |_, world: &World| {
            !world.clients.iter().any(|client| client.took_away)
        }),
        Property::always(GETS_IN, |rules: &Rules, world: &World| {
            // Ways from other states lead through these.
            let looks = fingerprint(world).is_multiple_of(16);
            let failed = world.clients.iter().any(|client| client.failed);
            !failed && (!looks || !rules.patience.queues() || all_get_in(world, rules))
        }),
    ];
    if rules.patience.queues() && !rules.nested {
        all.push(Property::sometimes(KEEPS, |_, world: &World| {
            (0..world.clients.len()).any(|me| {
                let mut smaller = 0..waits_for(world, me).unwrap_or(0);
                smaller.any(|name| !world.member(name, me).guards.is_empty())
            })
        }));
        all.push(Property::sometimes(RETRIES, |_, world: &World| {
            let mut calls = world.clients.iter().flat_map(|client| &client.call);
            calls.any(|call| call.attempts() > 2)
        }));
    }
    all
}

fn waits_for(world: &World, me: usize) -> Option<usize> {
    world.clients[me].call.as_ref()?.waits_for()
}

/// Whether all calls end if nothing more goes wrong.
fn all_get_in(world: &World, rules: &Rules) -> bool {
    let mut world = world.clone();
    let mut actions = Vec::new();
    // Each call takes a few steps at each name.
    for _ in 0..200 {
        if world.clients.iter().all(|client| client.call.is_none()) {
            return true;
        }
        world.enabled(rules, &mut actions);
        match actions.drain(..).find(|action| !is_mishap(*action)) {
            Some(action) => world.happen(action, rules),
            // Timers go on, but only here.
            None => world.tick(rules),
        }
        world.canonical(rules);
    }
    false
}

fn is_mishap(action: Action) -> bool {
    matches!(
        action,
        Action::At(_, world::Action::Force | world::Action::Lose(..))
    )
}
