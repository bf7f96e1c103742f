//! What must hold in every state, and which situations some run must reach.

mod possible;
mod safety;
mod service;

use stateright::Property;

use crate::name::rules::{Clocks, Setup};
use crate::name::world::World;

/// The store never grants more than the capacity.
pub const CAPACITY: &str = "the store grants no more than the capacity";
/// By their own clocks, the holders have no more than the capacity.
pub const EXCLUSION: &str = "no more than the capacity is held, by the clients' clocks";
/// Each token is greater than all earlier ones.
pub const TOKENS: &str = "tokens grow";
/// The fencing token of each call is greater than those of all earlier calls.
pub const CALLS: &str = "fencing tokens of calls grow";
/// A call enters only while its grant is valid.
pub const ENTRY: &str = "a call enters while its grant is valid";
/// Each call has a fencing token that belongs to its grant, or to an earlier one of its ticket.
pub const OWN_TOKEN: &str = "no call has a greater fencing token than its grant";
/// Nobody enters with a greater fencing token while a call holds the lock.
pub const WRITES: &str = "what a holder writes is taken";
/// A client that dies while it keeps the lock leaves no more than the short lease.
pub const SHORT: &str = "a dead keeper costs a short lease";
/// Waiters are granted in the order of the queue.
pub const ORDER: &str = "nobody is overtaken in the queue";
/// The store has what a call holds by its client's clock, or is closed.
pub const BACKED: &str = "the store has what is held by a client's clock";
/// No reply ends a hold that the store still has.
pub const KEPT: &str = "no hold is lost for nothing";
/// A ticket that its client has forgotten is not in the store.
pub const RELEASED: &str = "what was released stays released";
/// A call that polls does so no more often than it may, and no call fails before its time.
pub const TRIES: &str = "no call is tried too often, or fails too early";
/// A lease is passed on within a client no more often than it may.
pub const HANDOFFS: &str = "others get their turn after some handoffs";
/// No more calls are woken than were notified.
pub const NOTIFIED: &str = "a notification wakes one call";
/// A call does not wait while another call of its owner holds.
pub const OWNER: &str = "the calls of an owner hold together";
/// A client hears, or asks, when an operator took the lock away from it.
pub const TOLD: &str = "who loses the lock to an operator is told";
/// Each caller that waits for a renewal or a release gets one answer, in time.
pub const ANSWERS: &str = "each renewal and release is answered once";
/// The state of a store survives its encoding.
pub const BYTES: &str = "a store is the same after it was written and read";
/// A call holds no longer than its `expire`, nor does its lease last longer, and it is told why it has ended.
pub const EXPIRE: &str = "a call and its lease end with `expire`, and it is told so";
/// A client that takes no new calls keeps no lock, and one that ends has neither calls nor holds.
pub const ENDS: &str = "a client that ends has no calls and keeps nothing";
/// The error of a call is what the store has said, with its code, and says whether another call may succeed.
pub const SAID: &str = "a call fails with what the store has said";
/// A client knows whether its server is connected and closed, and what else it was told.
pub const INFORMED: &str = "a client knows of its server what it was told";
/// A client that knows that its store has forgotten its locks has no valid hold.
pub const FORGOTTEN: &str = "no hold outlasts the news that the store has forgotten it";
/// A store says the same after it has freed memory.
pub const SWEPT: &str = "what the store drops makes no difference";
/// A call misses at most five grants, and what continues it waits for the rest of its time.
pub const MISSES: &str = "a call that misses its grants waits no longer, and ends";
/// Nobody enters a lock that the program was told to skip: the store counts no units.
pub const SKIPPED: &str = "calls that are skipped take nothing and never wait";
/// A call that does not wait gets a lock that is only kept, if all clients work.
pub const YIELDS: &str = "a call that does not wait gets what is only kept";
/// If nothing more happens, every waiter is served, and nothing is left in the store.
pub const SERVICE: &str = "every live waiter is served, and nothing stays behind";

/// A property that has held in each step so far.
macro_rules! held {
    ($property:ident) => {
        Property::always($property, |_, world: &World| world.past.held($property))
    };
}

/// The properties of a run.
pub(crate) fn all(rules: &Setup) -> Vec<Property<Setup>> {
    let mishaps = &rules.mishaps;
    let mut all = vec![
        Property::always(CAPACITY, safety::capacity),
        held!(TOKENS),
        held!(ORDER),
        held!(ENTRY),
        Property::always(OWN_TOKEN, safety::own_token),
        held!(TRIES),
        held!(SAID),
        held!(INFORMED),
        Property::always(BYTES, safety::bytes),
    ];
    if rules.assumed {
        all.push(Property::always(EXCLUSION, safety::exclusion));
        all.push(Property::always(BACKED, safety::backed));
    }
    if rules.assumed && rules.capacity() == 1 {
        all.push(held!(CALLS));
        all.push(Property::always(WRITES, safety::writes));
    }
    // After a break, a late acquire may bring back a ticket that the store has just reported as gone. A client that
    // takes the store for closed gives up a grant that it may not claim while the store still has it.
    if rules.assumed && mishaps.breaks + mishaps.doubts == 0 {
        all.push(held!(KEPT));
    }
    // A promoted replica may have missed a release, and one that finds foreign data is not repeated for long. The hold
    // then stays in the store until its lease ends.
    if mishaps.failovers + mishaps.errors == 0 {
        all.push(Property::always(RELEASED, safety::released));
    }
    if rules.keepers > 0 && mishaps.breaks + mishaps.restarts + mishaps.failovers == 0 {
        all.push(Property::always(SHORT, safety::short_leases));
    }
    if rules.keepers == 0 {
        all.push(Property::always(HANDOFFS, safety::handoffs));
    }
    // A notified call whose client is away or dies leaves its notification to the next.
    if mishaps.signals > 0 && rules.clocks == Clocks::Frozen {
        all.push(Property::always(NOTIFIED, safety::notified));
    }
    if rules.asks {
        all.push(Property::always(ANSWERS, safety::answers));
    }
    if rules.expire != [0] {
        all.push(Property::always(EXPIRE, safety::expire));
    }
    if mishaps.drains + mishaps.closes > 0 {
        all.push(Property::always(ENDS, safety::ends));
    }
    if mishaps.reports > 0 {
        all.push(held!(FORGOTTEN));
    }
    if rules.sweeps {
        all.push(held!(SWEPT));
    }
    if mishaps.misses > 0 {
        all.push(Property::always(MISSES, safety::misses));
    }
    if rules.skips {
        all.push(Property::always(SKIPPED, safety::skipped));
    }
    if rules.keepers > 0 && !rules.has_queue_only() {
        all.push(Property::always(YIELDS, service::yields));
    }
    if rules.owned {
        all.push(Property::always(OWNER, safety::owner));
    }
    if mishaps.forces + mishaps.kicks > 0 {
        all.push(Property::always(TOLD, safety::told));
    }
    if rules.service {
        all.push(Property::always(SERVICE, service::served));
    }
    possible::add(rules, &mut all);
    all
}
