//! Whether every waiter is served once nothing more happens. In each state of a run, this lets every client take each
//! step that is due, in fixed orders, for a limited number of ticks.
//!
//! Each step of the walk is one of the run, so if something else happens during the walk, that leads to a state from
//! which another walk starts. Every waiter is thus served as soon as clients and network have worked for that long.

use auto_mutex_protocol::{Lease, Op, Ticket};

use crate::name::rules::{Setup, TICK, ticks};
use crate::name::world::{Action, Member, World, fingerprint};

/// More steps within a tick are a loop.
const STEPS: usize = 200;

/// The order of the steps.
#[derive(Clone, Copy)]
struct Order {
    /// Visit the clients in reverse order.
    reversed: bool,
    /// Late copies arrive first; otherwise as late as they can.
    late_first: bool,
}

/// One state in so many is looked at: the walks from the others soon meet one of these.
const SAMPLE: u64 = 64;

pub(super) fn served(run: &Setup, world: &World) -> bool {
    if !fingerprint(world).is_multiple_of(SAMPLE) {
        return true;
    }
    let orders = [(false, true), (true, false)];
    orders.into_iter().all(|(reversed, late_first)| {
        let mut world = world.clone();
        let order = Order {
            reversed,
            late_first,
        };
        is_served(&mut world, run, order) && leaves_nothing(&mut world, run)
    })
}

/// What is kept is recalled once, so the next attempt gets it.
pub(super) fn yields(run: &Setup, world: &World) -> bool {
    let rests = |member: &Member| member.state.is_idle() || member.keeps();
    let keeps = world.members.iter().any(Member::keeps);
    if !keeps || !world.members.iter().all(rests) {
        return true;
    }
    let tries = |me: &u8| !run.want(*me, 0).patience.queues();
    (0..run.clients).filter(tries).all(|me| {
        let (mut world, entered) = (world.clone(), world.past.entered);
        world.enter(me, run.want(me, 0).patience, run);
        let order = Order {
            reversed: false,
            late_first: false,
        };
        settle(&mut world, run, order);
        world.happen(Action::Tick(0), run);
        settle(&mut world, run, order);
        world.past.entered > entered
    })
}

fn is_served(world: &mut World, rules: &Setup, order: Order) -> bool {
    for _ in 0..=patience(world, rules) {
        if !settle(world, rules, order) {
            return false;
        }
        let done = |member: &Member| member.dead || member.state.is_idle() || member.keeps();
        if world.members.iter().all(done) {
            return end_what_is_kept(world, rules, order);
        }
        world.happen(Action::Tick(0), rules);
    }
    false
}

/// How many ticks it may take: live clients need none, but the leases of others must end first.
fn patience(world: &World, rules: &Setup) -> u32 {
    let record = world.store.record(&rules.limits);
    let last = record.holders.iter().map(|holder| holder.left).max();
    // A dead client's request in flight may get a lease, or a place that is granted and not claimed.
    let dead = (world.members.iter())
        .filter(|member| member.dead && member.link.requests.len() + member.link.late.len() > 0);
    let posthumous = dead.count() as u32 * ticks(rules.lease);
    let doubts = world
        .members
        .iter()
        .filter_map(|it| it.closed()?.left(it.now));
    let doubts = doubts.max();
    let closed = world.store.closed_for().max(doubts.unwrap_or_default());
    let claims = u32::from(rules.clients - 1) * ticks(rules.claim);
    let all = last.unwrap_or_default() + posthumous + closed + claims;
    let behind = u32::from(world.store.behind);
    behind + (all.as_nanos() / TICK.as_nanos()) as u32 + 2
}

fn end_what_is_kept(world: &mut World, rules: &Setup, order: Order) -> bool {
    for me in 0..rules.clients {
        world.happen(Action::ReleaseKept(me), rules);
    }
    settle(world, rules, order) && world.members.iter().all(|it| it.dead || it.state.is_idle())
}

/// Delivers everything that is in flight. Returns `false` if that never ends.
fn settle(world: &mut World, rules: &Setup, order: Order) -> bool {
    for _ in 0..STEPS {
        let count = world.members.len();
        let mut indices = 0..count;
        let due = |index: usize| {
            let index = if order.reversed {
                count - 1 - index
            } else {
                index
            };
            duty(&world.members[index], order, rules)
        };
        let Some(action) = indices.find_map(due) else {
            return true;
        };
        world.happen(action, rules);
    }
    false
}

/// What a client or its connection has to do now.
fn duty(member: &Member, order: Order, rules: &Setup) -> Option<Action> {
    let (me, link) = (member.me, &member.link);
    if order.late_first && !link.late.is_empty() {
        return Some(Action::Late(me, 0));
    }
    if !link.requests.is_empty() {
        return Some(Action::Execute(me));
    }
    if member.dead {
        return link.connected.then_some(Action::Notice(me));
    }
    if !link.connected {
        return Some(Action::Connect(me));
    }
    if !link.messages.is_empty() {
        return Some(Action::Message(me, 0));
    }
    if !link.answers.is_empty() {
        return Some(Action::Reply(me));
    }
    if !member.guards.is_empty() {
        return Some(Action::Release(me, 0));
    }
    member.is_due(rules).then_some(Action::Due(me))
}

/// Whether the store is empty after all leases, places and tombstones have ended, and one more operation has run.
fn leaves_nothing(world: &mut World, rules: &Setup) -> bool {
    // After the clock was stepped back, nothing ends before the next operation.
    look(world, rules);
    for _ in 0..rules.lease + rules.claim + rules.tomb {
        world.happen(Action::Tick(0), rules);
    }
    look(world, rules);
    world.store.state.is_idle()
}

/// Executes an operation about an unknown ticket.
fn look(world: &mut World, rules: &Setup) {
    let ticket = Ticket::from_bytes([7; 16]);
    let lease = Lease::of(ticket, 1, TICK);
    world.execute(0, None, Op::Touch { lease, units: 0 }, rules);
}
