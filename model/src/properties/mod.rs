//! What must hold in every state, and what must be possible, so that a run is known to have looked at it.

mod possible;
mod safety;
mod service;

pub use self::possible::POSSIBLE;

use stateright::Property;

use crate::rules::Rules;
use crate::world::Protocol;

/// The store grants no more than there is.
pub const CAPACITY: &str = "at most N grants at the store";
/// No more members believe that they hold.
pub const EXCLUSION: &str = "at most N hold by their own clocks";
/// Each token is greater than all before it.
pub const TOKENS: &str = "fencing tokens grow";
/// The register takes no write of a grant that is older than that of the last one.
pub const REGISTER: &str = "no stale write passes the fence";
/// Who is first in the queue is granted first.
pub const ORDER: &str = "nobody is overtaken in the queue";
/// What a member believes to hold the store has for it, or it is closed.
pub const BACKED: &str = "what is held by a member's clock the store has for it";
/// Nobody lets go of what the store has for him because of a reply.
pub const KEPT: &str = "no hold is lost for nothing";
/// While a member holds, nothing has been written under a later grant.
pub const WRITES: &str = "what a holder writes is taken";
/// A ticket whose member has nothing to do with it any more is not in the store.
pub const RELEASED: &str = "what was released stays released";
/// From here, everybody is served if nothing goes wrong any more, and nothing stays behind.
pub const SERVICE: &str = "every live waiter is served, and nothing stays behind";

/// The properties of a run.
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
    // A late acquire may bring back a ticket that the store has just called gone.
    // Who may not claim lets go, and the store still has it.
    if rules.faults.breaks + rules.faults.doubts == 0 {
        all.push(Property::always(KEPT, safety::kept));
    }
    // A replica that takes over may not have heard of a release: that holder lives on until its lease ends.
    if rules.faults.failovers == 0 {
        all.push(Property::always(RELEASED, safety::released));
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
