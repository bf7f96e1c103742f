//! The possible steps of the model.

use std::fmt;

use crate::network::{Message, Request, Verb};

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A caller in a member wants the lock.
    Enter(u8),
    /// A member asks again, or renews its lease.
    Ask(u8),
    /// A call ends, and its member keeps the lock.
    Keep(u8),
    /// A call enters a lock that its member keeps.
    Again(u8),
    /// A member releases.
    Release(u8),
    /// A member gives up waiting.
    Cancel(u8),
    /// A member notices that its hold is over.
    Lose(u8),
    /// A member writes to the register.
    Write(u8),
    /// The store executes the oldest request of a connection.
    Execute(u8),
    /// The oldest reply arrives at a member.
    Reply(u8),
    /// A message arrives at a member.
    Message(u8, Message),
    /// A message arrives for the first of two times.
    Copy(u8, Message),
    /// A message is lost.
    Lost(u8, Message),
    /// A late copy of a request reaches the store.
    Late(u8, Request),
    /// A connection breaks.
    Break(u8),
    /// A member connects again.
    Connect(u8),
    /// A member dies.
    Crash(u8),
    /// The store notices that a member is dead.
    Notice(u8),
    /// All clocks advance by one tick, except the clocks of the members in this set (a bit mask).
    Tick(u8),
    /// The store's clock advances by one tick.
    StoreTick,
    /// The clock of a member advances by one tick.
    MemberTick(u8),
    /// The store's clock is stepped back.
    StepBack,
    /// A member assumes that the store stays closed for longer than it does.
    Doubt(u8),
    /// The store is restarted, and has lost its data.
    Restart,
    /// The replica copies the store's state.
    Replicate,
    /// The replica takes over from the store.
    Failover,
}

/// `A`, `B`, …
fn member(index: u8) -> char {
    char::from(b'A' + index)
}

struct Short<'a>(&'a Request);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.verb {
            Verb::Acquire(_) => f.write_str("acquire"),
            Verb::Touch(_) => f.write_str("touch"),
            Verb::Release { .. } => f.write_str("release"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enter(who) => write!(f, "{} asks", member(*who)),
            Self::Ask(who) => write!(f, "{} touches", member(*who)),
            Self::Keep(who) => write!(f, "{}'s call ends, it keeps the lock", member(*who)),
            Self::Again(who) => write!(f, "{}'s next call enters", member(*who)),
            Self::Release(who) => write!(f, "{} releases", member(*who)),
            Self::Cancel(who) => write!(f, "{} gives up", member(*who)),
            Self::Lose(who) => write!(f, "{} sees its hold end", member(*who)),
            Self::Write(who) => write!(f, "{} writes", member(*who)),
            Self::Execute(who) => write!(f, "store executes {}'s", member(*who)),
            Self::Reply(who) => write!(f, "{} hears the reply", member(*who)),
            Self::Message(who, Message::Recall(_)) => write!(f, "{} is recalled", member(*who)),
            Self::Message(who, _) => write!(f, "{} hears of its grant", member(*who)),
            Self::Copy(who, Message::Recall(_)) => {
                write!(f, "{} is recalled (twice)", member(*who))
            }
            Self::Copy(who, _) => write!(f, "{} hears of its grant (twice)", member(*who)),
            Self::Lost(who, Message::Recall(_)) => {
                write!(f, "the recall of {} is lost", member(*who))
            }
            Self::Lost(who, _) => write!(f, "the message to {} is lost", member(*who)),
            Self::Late(who, request) => {
                write!(
                    f,
                    "store executes a late {} of {}",
                    Short(request),
                    member(*who)
                )
            }
            Self::Break(who) => write!(f, "{}'s connection breaks", member(*who)),
            Self::Connect(who) => write!(f, "{} connects, sends again", member(*who)),
            Self::Crash(who) => write!(f, "{} dies", member(*who)),
            Self::Notice(who) => write!(f, "store notices that {} is dead", member(*who)),
            Self::Tick(0) => f.write_str("tick"),
            Self::Tick(slow) => {
                let slow = (0..8).filter(|index| slow >> index & 1 == 1).map(member);
                write!(f, "tick, not for {}", slow.collect::<String>())
            }
            Self::StoreTick => f.write_str("tick at the store"),
            Self::MemberTick(who) => write!(f, "tick at {}", member(*who)),
            Self::StepBack => f.write_str("the store's clock is stepped back"),
            Self::Doubt(who) => write!(f, "{} takes the store for closed", member(*who)),
            Self::Restart => f.write_str("restart without data"),
            Self::Replicate => f.write_str("the replica catches up"),
            Self::Failover => f.write_str("the replica takes over"),
        }
    }
}
