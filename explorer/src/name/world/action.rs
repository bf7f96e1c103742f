//! [`Action`]: what can happen.

use std::fmt;

/// What can happen. A number is that of the client; a second one is an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A call asks for the lock.
    Enter(u8),
    /// A call ends.
    Release(u8, u8),
    /// A call leaves its hold to another client.
    Export(u8, u8),
    /// A call takes over what was left.
    Adopt(u8),
    /// A call gives up.
    Leave(u8, u8),
    /// A timer runs.
    Due(u8),
    /// The client no longer keeps the lock.
    ReleaseKept(u8),
    /// The store executes the oldest request.
    Execute(u8),
    /// The oldest reply arrives.
    Reply(u8),
    /// A message arrives.
    Message(u8, u8),
    /// A message arrives for the first of two times.
    Copy(u8, u8),
    /// A message is lost.
    Lose(u8, u8),
    /// A late copy of a request reaches the store.
    Late(u8, u8),
    /// The connection breaks.
    Break(u8),
    /// The client connects again.
    Connect(u8),
    /// The client dies.
    Crash(u8),
    /// The store notices that the client is dead.
    Notice(u8),
    /// All clocks advance by a tick; those of the clients in this bit mask a little less.
    Tick(u8),
    /// The store's clock is stepped back.
    StepBack,
    /// The client assumes that the store stays closed for longer than it does.
    Doubt(u8),
    /// A waiter is notified.
    Signal,
    /// An operator takes the lock away.
    Force,
    /// An operator looks who holds the lock.
    Look,
    /// An operator ends the hold that it has seen.
    Kick,
    /// The store is restarted, and has lost its data.
    Restart,
    /// The replica copies the store's state.
    Replicate,
    /// The replica takes over.
    Failover,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index: &u8| char::from(b'A' + index);
        match self {
            Self::Enter(me) => write!(f, "{} asks", name(me)),
            Self::Release(me, _) => write!(f, "{} releases", name(me)),
            Self::Export(me, _) => write!(f, "{} leaves its hold to another", name(me)),
            Self::Adopt(me) => write!(f, "{} takes over", name(me)),
            Self::Leave(me, _) => write!(f, "{} gives up", name(me)),
            Self::Due(me) => write!(f, "{}'s timer runs", name(me)),
            Self::ReleaseKept(me) => write!(f, "{} keeps the lock no longer", name(me)),
            Self::Execute(me) => write!(f, "the store executes {}'s", name(me)),
            Self::Reply(me) => write!(f, "{} hears the reply", name(me)),
            Self::Message(me, _) => write!(f, "{} hears a message", name(me)),
            Self::Copy(me, _) => write!(f, "{} hears a message (twice)", name(me)),
            Self::Lose(me, _) => write!(f, "a message to {} is lost", name(me)),
            Self::Late(me, _) => write!(f, "the store executes a late copy of {}'s", name(me)),
            Self::Break(me) => write!(f, "{}'s connection breaks", name(me)),
            Self::Connect(me) => write!(f, "{} connects", name(me)),
            Self::Crash(me) => write!(f, "{} dies", name(me)),
            Self::Notice(me) => write!(f, "the store notices that {} is dead", name(me)),
            Self::Tick(0) => f.write_str("tick"),
            Self::Tick(slow) => {
                let slow = (0..8).filter(|index| slow >> index & 1 == 1);
                let slow: String = slow.map(|index| name(&index)).collect();
                write!(f, "tick, slow for {slow}")
            }
            Self::StepBack => f.write_str("the store's clock is stepped back"),
            Self::Doubt(me) => write!(f, "{} takes the store for closed", name(me)),
            Self::Signal => f.write_str("a waiter is notified"),
            Self::Force => f.write_str("an operator forces the lock"),
            Self::Look => f.write_str("an operator looks who holds"),
            Self::Kick => f.write_str("an operator kicks who held then"),
            Self::Restart => f.write_str("restart without data"),
            Self::Replicate => f.write_str("the replica catches up"),
            Self::Failover => f.write_str("the replica takes over"),
        }
    }
}
