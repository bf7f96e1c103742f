//! What must hold in every state.

use auto_mutex_protocol::client::Phase;
use auto_mutex_protocol::{BytesError, State, TOKENS_OF_A_GRANT};

use super::{ANSWERS, EXPIRE, MISSES};
use crate::name::rules::{Setup, ticks};
use crate::name::world::{Member, World, fingerprint};

pub(super) fn capacity(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    record.used <= run.capacity()
}

pub(super) fn exclusion(run: &Setup, world: &World) -> bool {
    let units: u32 = world.members.iter().map(Member::units).sum();
    u64::from(units) <= run.capacity()
}

pub(super) fn own_token(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    let last = |token: u64| token * TOKENS_OF_A_GRANT + run.limits.tokens_used - 1;
    let mut guards = world.members.iter().flat_map(|member| &member.guards);
    guards.all(|guard| {
        let mut holders = record.holders.iter();
        let holder = holders.find(|holder| holder.ticket == guard.ticket);
        holder.is_none_or(|holder| guard.token <= last(holder.token))
    })
}

pub(super) fn misses(_: &Setup, world: &World) -> bool {
    world.past.missed <= 5 && world.past.held(MISSES)
}

pub(super) fn skipped(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    record.used == 0 && record.waiters.is_empty()
}

pub(super) fn answers(_: &Setup, world: &World) -> bool {
    // Before the first connection, no server knows the ticket, and nobody waits for an answer.
    let waits = |it: &Member| it.asked > 0 && (it.state.is_idle() || it.is_new);
    world.past.held(ANSWERS) && !world.members.iter().any(waits)
}

pub(super) fn bytes(_: &Setup, world: &World) -> bool {
    let (store, rare) = (&world.store, 16);
    if !fingerprint(world).is_multiple_of(rare) {
        return true;
    }
    let bytes = store.state.encode(store.now).unwrap_or_default();
    let read = |bytes: &[u8]| State::decode(bytes, store.now);
    // A later version, and one byte less or more.
    let later = [&[bytes[0] + 1], &bytes[1..]].concat();
    let longer = [&bytes[..], &[0]].concat();
    let damaged = [&bytes[..bytes.len() - 1], &longer].map(read);
    read(&bytes).as_ref() == Ok(&store.state)
        && read(&later) == Err(BytesError::Version(later[0]))
        && damaged.iter().all(|it| *it == Err(BytesError::Malformed))
}

pub(super) fn notified(_: &Setup, world: &World) -> bool {
    let (notified, woken) = world.past.notified;
    woken <= notified
}

/// A timer tells the call.
pub(super) fn expire(run: &Setup, world: &World) -> bool {
    let is_told = |member: &Member| {
        let mut over = member
            .guards
            .iter()
            .filter(|guard| guard.expires <= member.now);
        over.all(|guard| {
            let hold = member.hold(guard.call);
            hold.is_none_or(|hold| !hold.is_valid(member.now)) && member.is_due(run)
        })
    };
    world.past.held(EXPIRE) && world.members.iter().all(is_told)
}

pub(super) fn ends(_: &Setup, world: &World) -> bool {
    world.members.iter().all(|member| {
        let mut waiting = member.state.waiters().chain(member.state.attempts());
        let has_none = waiting.next().is_none() && !member.keeps();
        let is_over = has_none && member.guards.is_empty() && member.state.holds().next().is_none();
        match member.phase {
            Phase::Open => true,
            Phase::Draining => has_none,
            _ => is_over,
        }
    })
}

/// Each handoff takes the next fencing token of the grant.
pub(super) fn handoffs(run: &Setup, world: &World) -> bool {
    let mut guards = world.members.iter().flat_map(|member| &member.guards);
    guards.all(|guard| guard.token % TOKENS_OF_A_GRANT <= u64::from(run.times.handoff.0))
}

pub(super) fn writes(_: &Setup, world: &World) -> bool {
    let mut holders = world.members.iter().flat_map(|member| member.holders());
    holders.all(|guard| guard.token >= world.past.entered)
}

pub(super) fn backed(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    let mut members = world.members.iter();
    world.store.is_closed() || members.all(|member| world.is_backed(member.me, &record))
}

pub(super) fn released(run: &Setup, world: &World) -> bool {
    !world.has_unknown(run)
}

/// The lease is short as soon as the last requests of the dead client have arrived.
pub(super) fn short_leases(run: &Setup, world: &World) -> bool {
    let record = world.store.record(&run.limits);
    record.holders.iter().all(|holder| {
        let member = &world.members[usize::from(Member::number(holder.member))];
        let over = member.link.requests.is_empty() && member.link.late.is_empty();
        let short = holder.left <= ticks(run.claim);
        short || !over || !member.died_keeping
    })
}

/// A call of an owner that holds needs nothing from the store.
pub(super) fn owner(_: &Setup, world: &World) -> bool {
    let mut members = world.members.iter();
    members.all(|member| {
        let holds = member.holders().next().is_some();
        !holds || member.state.waiters().next().is_none()
    })
}

/// A call that was inside has a message, or its client asks the store.
pub(super) fn told(run: &Setup, world: &World) -> bool {
    world.members.iter().all(|member| {
        let inside = member.guards.iter().filter(|it| member.relies_on(it));
        let mut lost = inside.filter(|guard| member.removed.contains(&(guard.ticket, true)));
        lost.all(|guard| member.link.is_about(guard.ticket) || member.is_due(run))
    })
}
