//! Everything there is at one instant, and what can happen next.
//!
//! Nothing is ever forced to happen: requests, replies and messages take any time, and so does each step of a member.
//! So a pause of a member, for any time and at any point, needs nothing of its own: its clock goes on meanwhile, and
//! it goes on with its old beliefs.

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
    /// What a replica has heard of it, where there are failovers.
    pub replica: Option<Box<Store>>,
    /// The members.
    pub members: Vec<Member>,
    /// The connection of each.
    pub connections: Vec<Connection>,
    /// The last write that the register took.
    pub register: Token,
    /// What may still go wrong.
    pub faults: Faults,
    /// The server's time is later than the last token. Kept only where it matters.
    pub later: bool,
    /// The server's clock was stepped back, far behind the last token.
    pub behind: bool,
    /// What the properties want to know of the past.
    pub past: Past,
}

/// What nobody in the model can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The last grant, and the greatest token.
    pub last: Token,
    /// A token was not greater than all before it.
    pub token_fell: bool,
    /// Somebody was granted who had others before him in the queue.
    pub overtaken: bool,
    /// The register took a write of a grant that was older than that of the last one it took.
    pub stale_write: bool,
    /// Somebody let go of a hold on a reply, while the store had it for him.
    pub lost_for_nothing: bool,
}

impl World {
    /// Nobody has asked for anything yet.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        let members = (0..rules.members).map(|_| Member::new(rules.calls, rules.slips));
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

    /// The server's time as a token. A tick is long: in one, there are fewer grants than tokens.
    fn server_time(&self) -> Fence {
        if self.behind {
            1
        } else {
            self.past.last.fence + u8::from(self.later)
        }
    }
}
