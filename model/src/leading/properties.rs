//! What must hold in every state, and what must be possible in some state.

use stateright::{Model, Property};

use super::rules::{Bodies, Rules};
use super::seat::Due;
use super::service::{all_stand, hung_body_is_followed};
use super::world::{Action, World};

/// At most one process runs a body. A suspended process does not run it; after it is woken, it may run it until its
/// watchdog gets to act, in the same tick.
pub const ONE: &str = "one body at a time";
/// If leases are renewed, the lock leaves a process only when its body has ended or hangs.
pub const BODY_FIRST: &str = "the lock is not passed on before the body has ended";
/// If a body hangs, another seat leads.
pub const HUNG: &str = "a hung body does not lead forever";
/// The numbers of terms grow.
pub const NUMBERS: &str = "the numbers of terms grow";
/// A seat does not lead again before another one that has waited since before its last term ended.
pub const TURNS: &str = "who waited leads first";
/// Every seat leads or stands, unless its lead has ended.
pub const STANDS: &str = "every seat stands again";
/// An error that a body returned after it was told does not end the lead.
pub const ERRORS: &str = "an error of a lost term does not end the lead";
/// A body that ends within `stop_within` is not an overrun.
pub const IN_TIME: &str = "a body that ends in time is no overrun";
/// `check()` succeeds only in the newest term.
pub const CHECK: &str = "check() succeeds only in the newest term";

/// A process is aborted.
pub const ABORTS: &str = "a process is aborted";
/// A hung term is given up.
pub const GIVES_UP: &str = "a hung term is given up";
/// A body is told and its lease goes on to be renewed.
pub const LINGERS: &str = "a told body keeps the lock";
/// A suspended process still has a body while another one leads.
pub const WAKES_LATE: &str = "a suspended process sleeps through its term";
/// The properties that some run must reach.
pub const POSSIBLE: [&str; 4] = [ABORTS, GIVES_UP, LINGERS, WAKES_LATE];

/// The model: seats under some rules.
#[derive(Clone, Debug)]
pub struct Leading(pub Rules);

impl Model for Leading {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.enabled(&self.0, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.happen(action, &self.0);
        next.normalise();
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let rules = &self.0;
        let (in_time, faults) = (rules.bodies == Bodies::InTime, &rules.faults);
        let mut properties = vec![
            Property::always(NUMBERS, |_, world: &World| !world.past.number_fell),
            Property::always(TURNS, |_, world: &World| !world.past.jumped),
            Property::always(ERRORS, |_, world: &World| !world.past.lost_error_ended),
            Property::always(STANDS, |model: &Self, world: &World| {
                all_stand(world, &model.0)
            }),
            Property::sometimes(ABORTS, |model: &Self, world: &World| {
                model.0.aborts && is_due(world, &model.0, Due::Overrun)
            }),
            Property::sometimes(GIVES_UP, |model: &Self, world: &World| {
                is_due(world, &model.0, Due::GiveUp)
            }),
            Property::sometimes(LINGERS, |_, world: &World| lingers(world)),
            Property::sometimes(WAKES_LATE, |_, world: &World| wakes_late(world)),
        ];
        if rules.assumed {
            properties.push(Property::always(ONE, |_, world: &World| one(world)));
        }
        if rules.assumed && faults.forces == 0 {
            properties.push(Property::always(CHECK, check));
        }
        if rules.prompt && faults.suspends + faults.cuts + faults.restarts + faults.forces == 0 {
            properties.push(Property::always(BODY_FIRST, |_, world: &World| {
                !world.past.left_a_body
            }));
        }
        if rules.progress > 0 {
            properties.push(Property::always(HUNG, |model: &Self, world: &World| {
                hung_body_is_followed(world, &model.0)
            }));
        }
        if in_time && faults.suspends == 0 {
            properties.push(Property::always(IN_TIME, |model: &Self, world: &World| {
                !is_due(world, &model.0, Due::Overrun)
            }));
        }
        properties
    }
}

fn one(world: &World) -> bool {
    let runs = world
        .seats
        .iter()
        .filter(|seat| seat.is_up() && !seat.woke && seat.has_body());
    runs.count() <= 1
}

fn check(model: &Leading, world: &World) -> bool {
    world.seats.iter().all(|seat| {
        let term = seat.term().filter(|term| seat.is_up() && term.body.runs());
        term.is_none_or(|term| !term.check(&model.0) || term.number == world.past.newest)
    })
}

fn is_due(world: &World, rules: &Rules, due: Due) -> bool {
    world.seats.iter().any(|seat| seat.due(rules) == Some(due))
}

fn lingers(world: &World) -> bool {
    let mut terms = world.seats.iter().filter_map(|seat| seat.term());
    terms.any(|term| term.overrun && term.held && world.store.is_held_by(term.ticket))
}

fn wakes_late(world: &World) -> bool {
    let bodies = world.seats.iter().filter(|seat| seat.has_body());
    bodies.count() > 1 && world.seats.iter().any(|seat| seat.woke)
}
