//! What must hold in every state of a run of seats, and which situations some run must reach.

use auto_mutex_protocol::leading::{Effect, Input};
use stateright::Property;

use super::rules::{Bodies, Setup};
use super::seat::Seat;
use super::service::{all_stand, hung_body_is_followed};
use super::world::World;
use crate::name::properties::CALLS;
use crate::name::world::Member;

/// At most one process runs a body. A suspended process does not run it; after it is woken, it may run it until it gets
/// to look at its term, in the same tick.
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
const ABORTS: &str = "(possible) a process is aborted";
/// A hung term is given up.
const GIVES_UP: &str = "(possible) a hung term is given up";
/// A body is told, and its lease goes on to be renewed.
const LINGERS: &str = "(possible) a told body keeps the lock";
/// A suspended process still has a body while another one leads.
const WAKES_LATE: &str = "(possible) a suspended process sleeps through its term";
/// A grant is too short to begin.
const RENEWS_FIRST: &str = "(possible) a grant by message is renewed before the term begins";

/// The properties of a run.
pub(crate) fn all(rules: &Setup) -> Vec<Property<Setup>> {
    let faults = rules.faults;
    let mut all = vec![
        Property::always(NUMBERS, |_, world: &World| world.network.past.held(CALLS)),
        Property::always(TURNS, |_, world: &World| !world.past.jumped),
        Property::always(ERRORS, |_, world: &World| !world.past.lost_error_ended),
        Property::always(STANDS, all_stand),
    ];
    if rules.slow {
        all.push(Property::sometimes(RENEWS_FIRST, renews_first));
    }
    if rules.assumed {
        all.push(Property::always(ONE, one));
    }
    if rules.assumed && faults.forces == 0 {
        all.push(Property::always(CHECK, check));
    }
    if !rules.slow && faults.suspends + faults.cuts + faults.restarts + faults.forces == 0 {
        let left = |_: &_, world: &World| !world.past.left_a_body;
        all.push(Property::always(BODY_FIRST, left));
    }
    if rules.progress > 0 {
        all.push(Property::always(HUNG, hung_body_is_followed));
    }
    if rules.bodies == Bodies::InTime && faults.suspends == 0 {
        let in_time = |_: &_, world: &World| !world.past.overran_in_time;
        all.push(Property::always(IN_TIME, in_time));
    } else if rules.aborts.is_some() {
        all.push(Property::sometimes(ABORTS, aborts));
    }
    if rules.bodies == Bodies::Any && rules.progress > 0 {
        all.push(Property::sometimes(GIVES_UP, gives_up));
    }
    if rules.bodies == Bodies::Any && rules.aborts.is_none() {
        all.push(Property::sometimes(LINGERS, lingers));
    }
    if faults.suspends > 0 {
        all.push(Property::sometimes(WAKES_LATE, wakes_late));
    }
    all
}

fn one(_: &Setup, world: &World) -> bool {
    let runs = |me: &u8| {
        let (seat, _) = world.seat(*me);
        world.is_up(*me) && !seat.woke && seat.has_body()
    };
    let all = 0..world.seats.len() as u8;
    all.filter(runs).count() <= 1
}

fn check(_: &Setup, world: &World) -> bool {
    let mut all = 0..world.seats.len() as u8;
    all.all(|me| {
        let (seat, member) = world.seat(me);
        let office = seat.office().filter(|it| it.runs && world.is_up(me));
        office.is_none_or(|it| !it.check(member) || world.past.newest == Some(me))
    })
}

/// Whether a look at a term would have this effect.
fn is_due(world: &World, which: impl Fn(&Effect) -> bool) -> bool {
    let effects = |(seat, member): (&Seat, &Member)| {
        let mut office = seat.office().filter(|_| !seat.suspended)?.clone();
        Some(office.on(Input::Look, member))
    };
    world
        .all()
        .filter_map(effects)
        .flatten()
        .any(|it| which(&it))
}

fn aborts(_: &Setup, world: &World) -> bool {
    is_due(world, |it| {
        matches!(it, Effect::Overrun { aborts: true, .. })
    })
}

fn gives_up(_: &Setup, world: &World) -> bool {
    is_due(world, |it| *it == Effect::GiveUp)
}

fn lingers(rules: &Setup, world: &World) -> bool {
    let record = world.record(rules);
    world.all().any(|(seat, member)| {
        let has_it = || {
            let mut holders = record.holders.iter();
            let mut guards = member.guards.iter();
            holders.any(|holder| guards.any(|guard| guard.ticket == holder.ticket))
        };
        seat.office()
            .is_some_and(|it| it.runs && it.term.is_overrun())
            && has_it()
    })
}

fn wakes_late(_: &Setup, world: &World) -> bool {
    let bodies = world.seats.iter().filter(|seat| seat.has_body());
    bodies.count() > 1 && world.seats.iter().any(|seat| seat.woke)
}

fn renews_first(_: &Setup, world: &World) -> bool {
    let asks = |seat: &Seat| seat.stage == super::Stage::Granted(true);
    world.seats.iter().any(asks)
}
