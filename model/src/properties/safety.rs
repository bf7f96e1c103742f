//! The safety properties. Each function returns whether a state has the property.

use crate::member::Member;
use crate::world::{Protocol, World};

pub(super) fn capacity(model: &Protocol, world: &World) -> bool {
    world.store.holders() <= usize::from(model.0.capacity)
}

pub(super) fn exclusion(model: &Protocol, world: &World) -> bool {
    let holders = world.members.iter().filter(|member| member.believes());
    holders.count() <= usize::from(model.0.capacity)
}

pub(super) fn tokens(_: &Protocol, world: &World) -> bool {
    !world.past.token_fell
}

pub(super) fn call_tokens(_: &Protocol, world: &World) -> bool {
    !world.past.call_token_fell
}

/// The lease of a member that has died while it kept the lock is short, as soon as its last requests have arrived.
pub(super) fn short_leases(model: &Protocol, world: &World) -> bool {
    world.store.records.iter().all(|record| {
        let index = usize::from(record.ticket.member);
        let connection = &world.connections[index];
        let over = connection.requests.is_empty() && connection.late.is_empty();
        let kept = world.members[index].kept == Some(record.ticket) && over;
        !kept || record.lease.is_none_or(|it| it.left <= model.0.retain)
    })
}

pub(super) fn order(_: &Protocol, world: &World) -> bool {
    !world.past.overtaken
}

pub(super) fn register(_: &Protocol, world: &World) -> bool {
    !world.past.stale_write
}

pub(super) fn backed(_: &Protocol, world: &World) -> bool {
    let mut held = world.members.iter().filter_map(Member::held);
    world.store.closed > 0 || held.all(|(ticket, token)| world.store.has(ticket, token))
}

pub(super) fn kept(_: &Protocol, world: &World) -> bool {
    !world.past.lost_for_nothing
}

pub(super) fn writes(_: &Protocol, world: &World) -> bool {
    let inside = |member: &&Member| member.believes() && !member.keeps();
    let mut pens = world.members.iter().filter(inside).filter_map(|it| it.pen);
    pens.all(|pen| pen.seen() >= world.register.seen())
}

/// Each record belongs to a dead member, or to a ticket that its member still has: it waits, holds, or is being
/// released.
pub(super) fn released(_: &Protocol, world: &World) -> bool {
    world.store.records.iter().all(|record| {
        let member = &world.members[usize::from(record.ticket.member)];
        member.dead || member.knows(record.ticket)
    })
}
