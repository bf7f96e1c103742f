//! [`Input`] and [`Effect`]: what happens to the searches of a client, and what comes of it.

use alloc::vec::Vec;
use core::time::Duration;

use super::graph::Cycle;
use super::probe::{Answer, Probe};
use super::wait::{WaitId, WaitingHold};
use crate::{Instant, Limits, MemberId, NameRecord, Ticket};

/// What a step depends on, beside the searches and the input.
pub struct Env<'a> {
    /// The client's time.
    pub now: Instant,
    /// The durations of the protocol.
    pub limits: &'a Limits,
    /// Shortens a pause at random, so that clients do not search at the same time.
    pub jittered: &'a dyn Fn(Duration) -> Duration,
}

/// What happens to the searches of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<N> {
    /// A task that holds locks begins to wait.
    Waits {
        /// The wait.
        wait: WaitId,
        /// When it is searched for.
        after: Duration,
    },
    /// It is [`next`](super::Searches::next).
    Due,
    /// What the task of a wait holds: answers [`Effect::View`].
    Viewed {
        /// That of the effect.
        pass: u64,
        /// The wait.
        wait: WaitId,
        /// None if the wait is over.
        holds: Vec<WaitingHold<N>>,
    },
    /// What the store says: answers [`Effect::Inspect`].
    Inspected {
        /// That of the effect.
        pass: u64,
        /// The name.
        name: N,
        /// That of the effect.
        above: u32,
        /// The state of the name.
        record: NameRecord,
    },
    /// Another client asks: see [`Probe::Ask`].
    Asked(Question<N>),
    /// A client answers.
    Answered(Answer<N>),
    /// Another client has found that this wait must end a deadlock.
    Urged(WaitId),
}

/// A question of another client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question<N> {
    /// The name of all these tickets.
    pub name: N,
    /// Who asks.
    pub from: MemberId,
    /// The ticket that sealed the question, and seals the answer.
    pub key: Ticket,
    /// The number of the asker's pass.
    pub pass: u64,
    /// The tickets that it is about.
    pub tickets: Vec<Ticket>,
}

/// What comes of an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<N> {
    /// Says what the task of a wait holds: see [`Input::Viewed`].
    View {
        /// The number of the pass.
        pass: u64,
        /// The wait.
        wait: WaitId,
    },
    /// Asks the store for the state of a name: see [`Input::Inspected`].
    Inspect {
        /// The number of the pass.
        pass: u64,
        /// The name.
        name: N,
        /// Includes the waiters if some of them may ask for more units than this: only those can block a wait.
        above: u32,
    },
    /// Sends a message.
    Send {
        /// The name of the ticket.
        name: N,
        /// To whom.
        member: MemberId,
        /// The ticket that both clients know, with which the message is sealed.
        key: Ticket,
        /// The message.
        probe: Probe<N>,
    },
    /// Answers a question, with the parts of an [`Answer`].
    Answer(Question<N>),
    /// Reports a deadlock, which the call with this wait may end.
    Report {
        /// The wait of this client.
        wait: WaitId,
        /// The deadlock.
        cycle: Cycle<N>,
    },
}
