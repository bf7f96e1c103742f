//! Situations that some run must reach. Otherwise the properties might hold only because no run gets there.

use auto_mutex_protocol::{Message, Op, Reply, TOKENS_OF_A_GRANT, TicketRecord};
use stateright::Property;

use crate::name::rules::{Clocks, Setup};
use crate::name::world::{Member, World};

const FULL: &str = "(possible) everything is held";
const BY_MESSAGE: &str = "(possible) a grant by message is believed";
const PASSED_OVER: &str = "(possible) somebody is passed over";
const PAUSED: &str = "(possible) a holder was paused, and another holds";
const TOMB: &str = "(possible) a late acquire is in flight after its release";
const CLOSED: &str = "(possible) somebody waits at a closed store";
const DOUBTED: &str = "(possible) what is believed may not be claimed";
const AGAIN: &str = "(possible) a call enters what is kept, and another waits";
const RECALLED: &str = "(possible) what is kept is recalled";
const RECALLED_INSIDE: &str = "(possible) a recall comes while a call is inside";
const HANDED_ON: &str = "(possible) a call hands on to another of its client";

const EXPIRED: &str = "(possible) `expire` ends a call before its lease";
const ENDED: &str = "(possible) a client ends, and another waits for its lock";
const FORGED: &str = "(possible) a stranger has heard of a hold";

pub(super) fn add(rules: &Setup, all: &mut Vec<Property<Setup>>) {
    let several = u64::from(rules.clients) > rules.capacity() && !rules.skips;
    all.push(Property::sometimes(FULL, full));
    if several {
        all.push(Property::sometimes(BY_MESSAGE, by_message));
    }
    let mishaps = &rules.mishaps;
    let silent = mishaps.breaks + mishaps.crashes + mishaps.doubts > 0;
    let twice = rules.calls.iter().any(|calls| calls.0 > 1);
    let twice = twice && rules.has_queue_only();
    if several && rules.clocks != Clocks::Frozen && (silent || twice) {
        all.push(Property::sometimes(PASSED_OVER, passed_over));
    }
    if several && rules.clocks == Clocks::Together {
        all.push(Property::sometimes(PAUSED, paused));
    }
    if several && rules.keepers > 0 {
        if twice {
            all.push(Property::sometimes(AGAIN, again));
        }
        all.push(Property::sometimes(RECALLED, recalled));
        all.push(Property::sometimes(RECALLED_INSIDE, recalled_inside));
    }
    if rules.mishaps.breaks > 0 {
        all.push(Property::sometimes(TOMB, tomb));
    }
    if rules.mishaps.restarts + rules.mishaps.failovers > 0 && rules.closed > 0 {
        all.push(Property::sometimes(CLOSED, closed));
    }
    if several && rules.mishaps.doubts > 0 && !rules.prompt {
        all.push(Property::sometimes(DOUBTED, doubted));
    }
    if rules.expire.len() > 1 {
        all.push(Property::sometimes(EXPIRED, expired));
    }
    if several && rules.mishaps.closes > 0 {
        all.push(Property::sometimes(ENDED, ended));
    }
    if rules.mishaps.overhears > 0 {
        all.push(Property::sometimes(FORGED, forged));
    }
    // The next call may not be granted before `at_least` is over, and calls of one owner hold together.
    let takes_all = rules.shares[0].excludes_all() && rules.patience[0].queues();
    let hands_on = takes_all && rules.at_least == 0 && !rules.owned;
    if hands_on && rules.calls.iter().any(|calls| calls.1 > 1) {
        all.push(Property::sometimes(HANDED_ON, handed_on));
    }
}

fn holds(member: &Member) -> bool {
    member.holders().next().is_some()
}

fn full(run: &Setup, world: &World) -> bool {
    let holders = world.members.iter().flat_map(|member| member.holders());
    let units: u32 = holders.map(|guard| guard.units).sum();
    u64::from(units) == run.capacity()
}

fn by_message(run: &Setup, world: &World) -> bool {
    // The holder has not been told by a reply: it has sent no claim that the store has executed.
    let record = world.store.record(&run.limits);
    world.members.iter().any(|member| {
        let mut guards = member.holders();
        guards.any(|guard| {
            let mut holders = record.holders.iter();
            let claims = |op: &Op| op.ticket() == Some(guard.ticket);
            holders.any(|holder| holder.ticket == guard.ticket && holder.token > 0)
                && member.link.requests.iter().any(|sent| claims(&sent.0.op))
        })
    })
}

fn passed_over(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    record.waiters.iter().any(|waiter| waiter.passed_over)
}

fn paused(_: &Setup, world: &World) -> bool {
    let over = |member: &Member| {
        let mut guards = member.guards.iter();
        guards.any(|guard| !guard.is_valid(member.now))
    };
    world.members.iter().any(over) && world.members.iter().any(holds)
}

fn again(_: &Setup, world: &World) -> bool {
    let waits = |member: &Member| member.state.places().any(|place| place.is_none());
    world.members.iter().any(waits) && is_entered_again(world)
}

/// A call holds with a grant of an earlier call.
fn is_entered_again(world: &World) -> bool {
    let mut holders = world.members.iter().flat_map(|member| member.holders());
    holders.any(|guard| !guard.token.is_multiple_of(TOKENS_OF_A_GRANT))
}

fn is_recalled(world: &World, which: impl Fn(&Member) -> bool) -> bool {
    world.members.iter().any(|member| {
        let mut messages = member.link.messages.iter();
        messages.any(|sent| matches!(sent.0, Message::Recall { .. })) && which(member)
    })
}

fn recalled(_: &Setup, world: &World) -> bool {
    is_recalled(world, Member::keeps)
}

fn recalled_inside(_: &Setup, world: &World) -> bool {
    is_recalled(world, holds)
}

fn tomb(_: &Setup, world: &World) -> bool {
    world.members.iter().any(|member| {
        let mut late = member.link.late.iter();
        late.any(|((_, op), _)| {
            let ticket = op.ticket().filter(|_| matches!(op, Op::Acquire { .. }));
            ticket.is_some_and(|ticket| member.state.waits_with(ticket).is_none())
        })
    })
}

fn closed(run: &Setup, world: &World) -> bool {
    world.store.is_closed() && !world.store.record(&run.limits).waiters.is_empty()
}

fn expired(_: &Setup, world: &World) -> bool {
    let mut members = world.members.iter();
    members.any(|member| {
        let mut over = member
            .guards
            .iter()
            .filter(|guard| guard.expires <= member.now);
        over.any(|guard| member.now < guard.valid)
    })
}

fn ended(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    let mut holders = record.holders.iter();
    let ends = |holder: &TicketRecord| {
        let member = &world.members[usize::from(Member::number(holder.member))];
        member.phase.is_over()
    };
    holders.any(ends) && !record.waiters.is_empty()
}

fn forged(_: &Setup, world: &World) -> bool {
    let heard = world
        .overheard
        .as_ref()
        .and_then(|message| message.ticket());
    let mut holders = world.members.iter().flat_map(|member| member.holders());
    holders.any(|guard| Some(guard.ticket) == heard)
}

/// The reply that refuses a claim is in flight.
fn doubted(_: &Setup, world: &World) -> bool {
    world.members.iter().any(|member| {
        let mut guards = member.holders();
        guards.any(|guard| {
            let mut answers = member.link.answers.iter();
            answers.any(|(answer, _)| {
                answer.request.op.ticket() == Some(guard.ticket)
                    && matches!(answer.result, Ok(Reply::Queued { .. }))
            })
        })
    })
}

fn handed_on(run: &Setup, world: &World) -> bool {
    run.keepers == 0 && is_entered_again(world)
}
