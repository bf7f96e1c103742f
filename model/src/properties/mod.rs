//! What must hold in every state, and which situations some state must reach for the run to have covered them.

mod possible;
mod safety;
mod service;

pub use self::possible::POSSIBLE;

use stateright::Property;

use crate::rules::Rules;
use crate::world::Protocol;

/// The store never grants more units than the capacity.
pub const CAPACITY: &str = "at most N grants at the store";
/// By their own clocks, no more members than the capacity hold the lock.
pub const EXCLUSION: &str = "at most N hold by their own clocks";
/// Each token is greater than all earlier tokens.
pub const TOKENS: &str = "fencing tokens grow";
/// The fencing token of each call is greater than those of all earlier calls.
pub const CALLS: &str = "fencing tokens of calls grow";
/// A member that dies while it keeps the lock leaves no more than the short lease.
pub const SHORT: &str = "a dead keeper costs a short lease";
/// The register refuses a write under a grant that is older than the grant of the last write.
pub const REGISTER: &str = "no stale write passes the fence";
/// Waiters are granted in the order of the queue.
pub const ORDER: &str = "nobody is overtaken in the queue";
/// If a member holds the lock by its own clock, the store has that hold or is closed.
pub const BACKED: &str = "what is held by a member's clock the store has for it";
/// No reply makes a member give up a hold that the store still has.
pub const KEPT: &str = "no hold is lost for nothing";
/// While a member holds the lock, nothing has been written under a later grant.
pub const WRITES: &str = "what a holder writes is taken";
/// A ticket that its member has finished with is not in the store.
pub const RELEASED: &str = "what was released stays released";
/// In every state: if no more faults happen, every waiter is served, and nothing is left in the store.
pub const SERVICE: &str = "every live waiter is served, and nothing stays behind";

/// Returns the properties of a run.
pub(crate) fn all(rules: &Rules) -> Vec<Property<Protocol>> {
    let mut all = vec![
        Property::always(CAPACITY, safety::capacity),
        Property::always(TOKENS, safety::tokens),
        Property::always(ORDER, safety::order),
    ];
    if rules.assumed {
        all.push(Property::always(EXCLUSION, safety::exclusion));
        all.push(Property::always(BACKED, safety::backed));
    }
    // After a break, a late acquire may bring back a ticket that the store has just reported as gone. With doubts, a
    // member that may not claim its grant gives it up while the store still has it.
    if rules.faults.breaks + rules.faults.doubts == 0 {
        all.push(Property::always(KEPT, safety::kept));
    }
    // A promoted replica may have missed a release. The released holder then stays in the store until its lease ends.
    if rules.faults.failovers == 0 {
        all.push(Property::always(RELEASED, safety::released));
    }
    if rules.retain > 0 {
        all.push(Property::always(CALLS, safety::call_tokens));
    }
    let faults = &rules.faults;
    if rules.retain > 0 && faults.breaks + faults.restarts + faults.failovers == 0 {
        all.push(Property::always(SHORT, safety::short_leases));
    }
    if rules.register && rules.assumed && rules.capacity == 1 {
        all.push(Property::always(WRITES, safety::writes));
    }
    if rules.register {
        all.push(Property::always(REGISTER, safety::register));
    }
    if rules.service {
        all.push(Property::always(SERVICE, service::served));
    }
    possible::add(rules, &mut all);
    all
}
