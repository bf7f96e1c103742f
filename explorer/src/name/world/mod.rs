//! [`World`]: clients, a store, and the connections between them at one instant, and what can happen next.
//!
//! No step is ever forced: requests, replies, messages, timers and the ends of calls may take any time. So a client can
//! pause anywhere, and afterwards goes on from its old state.

mod action;
mod canonical;
mod enabled;
mod forger;
mod happen;
mod link;
mod member;
mod text;

pub use self::action::Action;
pub(crate) use self::action::is_of_call;
pub(crate) use self::canonical::counted;
pub use self::canonical::fingerprint;
pub use self::link::{Link, thin_out};
pub use self::member::ticket;
pub use self::member::{Guard, Member};

use core::time::Duration;

use auto_mutex_protocol::{Limits, Message, NameRecord, State, Ticket};

use crate::name::rules::{Mishaps, Setup, TICK, micros};

/// The present of a store, in microseconds. States that differ only by the time are one.
const PRESENT: u64 = 1_000 * micros(TICK);

/// The name, as messages have it.
const NAME: &str = "n";

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The store.
    pub store: Store,
    /// What a replica has copied, if it has.
    pub replica: Option<Box<State>>,
    /// The clients.
    pub members: Vec<Member>,
    /// The token of the holder that an operator has seen; zero if it has not looked.
    pub seen: u64,
    /// The ticket whose hold was left to another client.
    pub exported: Option<Ticket>,
    /// What a stranger has heard.
    pub overheard: Option<Message>,
    /// What may still happen.
    pub left: Mishaps,
    /// Facts about the past that the properties need.
    pub past: Past,
}

/// The store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The state of the name.
    pub state: State,
    /// Its time, in microseconds.
    pub now: u64,
    /// It grants nothing before.
    pub closed_until: u64,
    /// Whether its clock was stepped back, behind the last token.
    pub behind: bool,
}

/// What neither the clients nor the store know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The greatest token that the store has granted with.
    pub token: u64,
    /// The greatest fencing token of a call.
    pub entered: u64,
    /// A token was not greater than all earlier ones.
    pub token_fell: bool,
    /// The fencing token of a call was not greater than those of all earlier calls.
    pub call_fell: bool,
    /// A call entered with a grant that had ended.
    pub entered_late: bool,
    /// How many waiters were notified, and how many calls were woken for that.
    pub notified: (u8, u8),
    /// A call was tried more often than it may.
    pub tried_too_often: bool,
    /// A waiter was granted before an earlier waiter.
    pub overtaken: bool,
    /// What a client heard ended a hold that the store still had.
    pub lost_for_nothing: bool,
    /// A call failed because its wait was over, and it was not.
    pub failed_early: bool,
    /// A caller got two answers.
    pub answered_twice: bool,
    /// A renewal asked for a lease beyond the end of its call's `expire`.
    pub asked_beyond: bool,
    /// The cause of a loss was not the one that came first.
    pub told_wrongly: bool,
}

impl World {
    /// Nobody has called yet.
    pub fn new(rules: &Setup) -> Self {
        Self {
            store: Store {
                state: State::default(),
                now: PRESENT,
                closed_until: 0,
                behind: false,
            },
            replica: None,
            seen: 0,
            exported: None,
            overheard: None,
            members: (0..rules.clients)
                .map(|me| Member::new(me, rules))
                .collect(),
            left: rules.mishaps,
            past: Past::default(),
        }
    }
}

impl Store {
    /// Whether it grants nothing.
    pub fn is_closed(&self) -> bool {
        self.now < self.closed_until
    }

    /// What it says about the name.
    pub fn record(&self, limits: &Limits) -> NameRecord {
        self.state.inspect(self.now, 0, limits)
    }

    /// How long it still grants nothing.
    pub(crate) fn closed_for(&self) -> Duration {
        Duration::from_micros(self.closed_until.saturating_sub(self.now))
    }

    fn tick(&mut self) {
        self.now += micros(TICK);
    }
}
