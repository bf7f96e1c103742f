//! Situations that some run must reach. Otherwise the other properties might hold only because no run gets there.

use stateright::Property;

use crate::member::{Member, Phase};
use crate::network::{Message, Reply, Verb};
use crate::rules::{Clocks, Rules};
use crate::world::{Protocol, World};

/// As many members as the capacity hold the lock.
const FULL: &str = "(possible) N hold";
/// A member holds the lock after a grant by message, and the store has not received the claim yet.
const BY_MESSAGE: &str = "(possible) a grant by message is believed";
/// The store passes a ticket over, because its member seems to be gone or has not claimed a grant in time.
const PASSED_OVER: &str = "(possible) somebody is passed over";
/// A paused member has a hold that is over while another member holds the lock.
const PAUSED: &str = "(possible) a holder was paused, and another holds";
/// A late copy of an acquire is in flight, and the store has a tombstone for its ticket.
const TOMB: &str = "(possible) a late acquire meets a tombstone";
/// A closed store knows a ticket.
const CLOSED: &str = "(possible) somebody waits at a closed store";
/// A member holds the lock by its own clock but may not claim the grant, and the reply that refuses the claim is in
/// flight.
const DOUBTED: &str = "(possible) what is believed may not be claimed";

/// A call has entered a kept lock for which another member waits.
const AGAIN: &str = "(possible) a call enters what is kept, and another waits";
/// A member that keeps the lock has not read its recall yet.
const RECALLED: &str = "(possible) what is kept is recalled";
/// A member whose call is inside has not read its recall yet.
const RECALLED_INSIDE: &str = "(possible) a recall comes while a call is inside";

/// All these situations. Some run has to reach each of them.
pub const POSSIBLE: [&str; 10] = [
    FULL,
    BY_MESSAGE,
    PASSED_OVER,
    PAUSED,
    TOMB,
    CLOSED,
    DOUBTED,
    AGAIN,
    RECALLED,
    RECALLED_INSIDE,
];

pub(super) fn add(rules: &Rules, all: &mut Vec<Property<Protocol>>) {
    all.push(Property::sometimes(FULL, full));
    if rules.members > rules.capacity {
        all.push(Property::sometimes(BY_MESSAGE, by_message));
        all.push(Property::sometimes(PASSED_OVER, passed_over));
    }
    if rules.clocks == Clocks::Together && rules.members > rules.capacity {
        all.push(Property::sometimes(PAUSED, paused));
    }
    if rules.retain > 0 && rules.members > rules.capacity {
        all.push(Property::sometimes(AGAIN, again));
        all.push(Property::sometimes(RECALLED, recalled));
        all.push(Property::sometimes(RECALLED_INSIDE, recalled_inside));
    }
    if rules.faults.breaks > 0 {
        all.push(Property::sometimes(TOMB, tomb));
    }
    if rules.faults.restarts + rules.faults.failovers > 0 {
        all.push(Property::sometimes(CLOSED, closed));
    }
    if rules.faults.doubts > 0 && !rules.prompt && rules.members > rules.capacity {
        all.push(Property::sometimes(DOUBTED, doubted));
    }
}

fn full(model: &Protocol, world: &World) -> bool {
    let holders = world.members.iter().filter(|member| member.believes());
    holders.count() == usize::from(model.0.capacity)
}

fn by_message(_: &Protocol, world: &World) -> bool {
    let provisional = |record: &crate::store::Record| {
        let member = &world.members[usize::from(record.ticket.member)];
        record.lease.is_some_and(|lease| lease.provisional) && member.believes()
    };
    world.store.records.iter().any(provisional)
}

fn passed_over(_: &Protocol, world: &World) -> bool {
    world.store.records.iter().any(|record| record.quiet)
}

fn paused(_: &Protocol, world: &World) -> bool {
    let over = |phase: &Phase| matches!(phase, Phase::Holds { left: 0, .. });
    let mut mine = world
        .members
        .iter()
        .filter_map(|member| member.mine.as_ref());
    mine.any(|mine| over(&mine.phase)) && world.members.iter().any(|member| member.believes())
}

fn again(_: &Protocol, world: &World) -> bool {
    let waits = world.members.iter().any(Member::waits) && world.store.records.len() > 1;
    let again = |member: &Member| {
        let number = member.pen.map_or(0, |pen| pen.number);
        member.believes() && !member.keeps() && number > 0
    };
    waits && world.members.iter().any(again)
}

fn is_recalled(world: &World, which: impl Fn(&Member) -> bool) -> bool {
    let mut all = world.members.iter().zip(&world.connections);
    all.any(|(member, connection)| {
        let mut messages = connection.messages.iter();
        let recalled = messages.any(|message| matches!(message, Message::Recall(_)));
        recalled && member.believes() && which(member)
    })
}

fn recalled(_: &Protocol, world: &World) -> bool {
    is_recalled(world, Member::keeps)
}

fn recalled_inside(_: &Protocol, world: &World) -> bool {
    is_recalled(world, |member| !member.keeps())
}

fn tomb(_: &Protocol, world: &World) -> bool {
    world
        .connections
        .iter()
        .flat_map(|connection| &connection.late)
        .any(|(late, _)| {
            let gone = world.store.gone.iter().any(|gone| gone.0 == late.ticket);
            gone && matches!(late.verb, Verb::Acquire(_))
        })
}

fn doubted(_: &Protocol, world: &World) -> bool {
    world
        .members
        .iter()
        .zip(&world.connections)
        .any(|(member, connection)| {
            let refused = |ticket| {
                let mut replies = connection.replies.iter();
                replies.any(|it| it.request.ticket == ticket && it.reply == Reply::Queued)
            };
            let held = member.held();
            held.is_some_and(|(ticket, token)| refused(ticket) && world.store.has(ticket, token))
        })
}

fn closed(_: &Protocol, world: &World) -> bool {
    world.store.closed > 0 && !world.store.records.is_empty()
}
