//! Checks that every waiter is served once faults end. In each state of a run, the check assumes that no more faults
//! happen, and that every member takes each step that is due.
//!
//! Stateright's `eventually` is not used, because it overlooks cycles of states. Instead, this check walks from every
//! state to the end, in fixed orders, within a limited number of ticks. Each step of the walk is a step of the model,
//! so any other event during the walk leads to a state where the check starts as well. Every waiter is thus served as
//! soon as members and network have worked without faults for that many ticks.

use crate::member::Member;
use crate::network::{Request, Ticket, Verb, Wish};
use crate::rules::Rules;
use crate::world::{Action, Protocol, World};

/// The order of the steps.
#[derive(Clone, Copy)]
struct Order {
    /// Visit the members in reverse order.
    reversed: bool,
    /// Late copies arrive first; otherwise as late as they can.
    late_first: bool,
}

pub(super) fn served(model: &Protocol, world: &World) -> bool {
    let orders = [(false, true), (true, false)];
    orders.into_iter().all(|(reversed, late_first)| {
        let mut world = world.clone();
        let order = Order {
            reversed,
            late_first,
        };
        is_served(&mut world, &model.0, order) && leaves_nothing(&mut world, &model.0)
    })
}

/// Returns whether every waiter gets the lock within the limit of [`patience`]. Members keep the lock if they may, and for
/// ever unless they are recalled.
fn is_served(world: &mut World, rules: &Rules, order: Order) -> bool {
    let patience = patience(world, rules);
    for _ in 0..=patience {
        if !settle(world, rules, order) {
            return false;
        }
        let done = |member: &Member| member.leaving.is_empty() && !member.waits();
        if world.members.iter().all(done) {
            // The time for which members keep the lock ends.
            return end_what_is_kept(world, rules, order);
        }
        world.happen(&Action::Tick(0), rules);
        beat(world, rules);
    }
    false
}

/// The maximum number of ticks until every waiter is served. Live members need none, but leases of dead holders must
/// end first.
fn patience(world: &World, rules: &Rules) -> u8 {
    let leases = world.store.records.iter().filter_map(|record| record.lease);
    let last = leases.map(|lease| lease.left).max().unwrap_or(0);
    // A dead member's request that is still in flight may get a lease.
    let dead = world
        .members
        .iter()
        .zip(&world.connections)
        .filter(|(member, connection)| {
            member.dead && connection.requests.len() + connection.late.len() > 0
        });
    let posthumous = dead.count() as u8 * rules.lease;
    let doubts = world.members.iter().map(|member| member.closed).max();
    let closed = world.store.closed.max(doubts.unwrap_or(0));
    // The factor `members - 1` below allows for each other member having just died in the queue.
    let noticed = u8::from(world.store.stepped_back);
    noticed + closed + last + posthumous + (rules.members - 1) * rules.claim + 1
}

fn end_what_is_kept(world: &mut World, rules: &Rules, order: Order) -> bool {
    for index in 0..rules.members {
        let member = &world.members[usize::from(index)];
        if member.holds() {
            world.happen(&Action::Release(index), rules);
        }
    }
    settle(world, rules, order) && world.members.iter().all(|member| member.mine.is_none())
}

/// Delivers everything that is in flight. Returns `false` if that takes more than 200 steps.
fn settle(world: &mut World, rules: &Rules, order: Order) -> bool {
    for _ in 0..200 {
        let mut indices: Vec<_> = (0..rules.members).collect();
        if order.reversed {
            indices.reverse();
        }
        let due = |index: &u8| duty(world, *index, order, rules);
        let next = indices.iter().find_map(due);
        let Some(action) = next else {
            return true;
        };
        world.happen(&action, rules);
    }
    false
}

/// Returns the step that is due at a member now.
fn duty(world: &World, index: u8, order: Order, rules: &Rules) -> Option<Action> {
    let (member, connection) = (
        &world.members[usize::from(index)],
        &world.connections[usize::from(index)],
    );
    if order.late_first
        && let Some(late) = connection.late.first()
    {
        return Some(Action::Late(index, late.0));
    }
    if !connection.requests.is_empty() {
        return Some(Action::Execute(index));
    }
    if member.dead {
        return connection.connected.then_some(Action::Notice(index));
    }
    if !connection.connected {
        return Some(Action::Connect(index));
    }
    if let Some(message) = connection.messages.first() {
        return Some(Action::Message(index, *message));
    }
    if !connection.replies.is_empty() {
        return Some(Action::Reply(index));
    }
    if member.may_keep(connection, rules) {
        return Some(Action::Keep(index));
    }
    if member.believes() {
        return (!member.keeps()).then_some(Action::Release(index));
    }
    member.holds().then_some(Action::Lose(index))
}

/// Each member that waits or keeps the lock touches its ticket, once a tick.
fn beat(world: &mut World, rules: &Rules) {
    for index in 0..rules.members {
        let member = &world.members[usize::from(index)];
        if (member.waits() || member.keeps()) && world.connections[usize::from(index)].connected {
            world.happen(&Action::Ask(index), rules);
        }
    }
}

/// Returns whether the store is empty after all leases, places and tombstones have ended and one more operation has
/// run.
fn leaves_nothing(world: &mut World, rules: &Rules) -> bool {
    // After the clock was stepped back, nothing ends before the next operation.
    if world.store.stepped_back {
        look(world, rules);
    }
    for _ in 0..rules.lease.max(rules.place) + rules.claim + rules.tomb {
        world.happen(&Action::Tick(0), rules);
    }
    look(world, rules);
    world.store.records.is_empty() && world.store.gone.is_empty()
}

/// Executes an operation about an unknown ticket.
fn look(world: &mut World, rules: &Rules) {
    let nobody = Request {
        ticket: Ticket {
            member: 0,
            number: u8::MAX,
        },
        verb: Verb::Touch(Wish::default()),
    };
    world.look(nobody, rules);
}
