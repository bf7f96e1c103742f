//! The whole state of the model at one instant, and the steps that are possible next.
//!
//! No step is ever forced: requests, replies, messages and the steps of members may take any time. A member can thus
//! pause at any point, for any time, without a special step. Its clock keeps advancing, and afterwards the member
//! continues from its old state.

mod action;
mod enabled;
mod forget;
mod happen;
#[cfg(feature = "checker")]
mod model;
mod normal;
mod symmetry;
mod time;
mod traces;

pub use self::action::Action;
pub use self::happen::Executed;
#[cfg(feature = "checker")]
pub use self::model::Protocol;

use crate::member::Member;
use crate::network::{Connection, Fence, Token};
use crate::rules::{Faults, Rules};
use crate::store::Store;

/// One state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The store.
    pub store: Store,
    /// The state that a replica has copied, if there are failovers.
    pub replica: Option<Box<Store>>,
    /// The members.
    pub members: Vec<Member>,
    /// The connection of each member.
    pub connections: Vec<Connection>,
    /// The token of the last write that the register accepted.
    pub register: Token,
    /// The faults that may still happen.
    pub faults: Faults,
    /// Whether the server's time is later than the last token. Always `true` in runs with the rule `LastToken`.
    pub later: bool,
    /// The server's clock was stepped back, far behind the last token.
    pub behind: bool,
    /// Facts about the past that the properties need.
    pub past: Past,
}

/// Facts that neither the members nor the store know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The greatest fencing token so far, and the position of the last grant.
    pub last: Token,
    /// A token was not greater than all earlier tokens.
    pub token_fell: bool,
    /// The fencing token of the last call that entered, in runs in which locks are kept.
    pub entered: Token,
    /// The fencing token of a call was not greater than those of all earlier calls.
    pub call_token_fell: bool,
    /// A waiter was granted before an earlier waiter of the queue.
    pub overtaken: bool,
    /// The register accepted a write under a grant that is older than the grant of the last write.
    pub stale_write: bool,
    /// A reply made a member give up a hold that the store still had.
    pub lost_for_nothing: bool,
}

impl World {
    /// Returns a world in which no member has asked for the lock yet.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        let members = (0..rules.members).map(|me| {
            let once = rules.retain > 0 && !rules.is_keeper(me);
            Member::new(if once { 1 } else { rules.calls }, rules.slips)
        });
        Self {
            store: Store::default(),
            replica: (rules.faults.failovers > 0).then(Box::default),
            members: members.collect(),
            connections: (0..rules.members).map(|_| Connection::new()).collect(),
            register: Token::default(),
            faults: rules.faults,
            later: true,
            behind: false,
            past: Past::default(),
        }
    }

    /// The server's time as a token. A tick has more token values than grants, so the time does not fall behind the
    /// tokens unless the clock is stepped back.
    fn server_time(&self) -> Fence {
        if self.behind {
            1
        } else {
            self.past.last.fence + u8::from(self.later)
        }
    }
}
