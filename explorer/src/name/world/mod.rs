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
mod server;
mod text;

pub use self::action::Action;
pub(crate) use self::action::is_of_call;
pub(crate) use self::canonical::counted;
pub use self::canonical::fingerprint;
pub use self::link::{Link, thin_out};
pub use self::member::ticket;
pub use self::member::{Guard, Member};

use core::time::Duration;
use std::collections::BTreeSet;

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The properties that did not hold in some step.
    pub broken: BTreeSet<&'static str>,
    /// The greatest token that the store has granted with.
    pub token: u64,
    /// The greatest fencing token of a call.
    pub entered: u64,
    /// How many waiters were notified, and how many calls were woken for that.
    pub notified: (u8, u8),
    /// How often a call asked again because it had missed its grant.
    pub missed: u8,
}

impl Past {
    /// Whether the property has held in each step.
    pub fn held(&self, property: &str) -> bool {
        !self.broken.contains(property)
    }

    fn note(&mut self, property: &'static str, is_broken: bool) {
        if is_broken {
            self.broken.insert(property);
        }
    }
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
