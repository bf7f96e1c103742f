//! [`Action`]: what can happen.

use std::fmt;

use auto_mutex_protocol::{Op, SharedStr, StoreErrorKind};

use super::forger::FORGERIES;

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
    /// The client goes on after it was suspended.
    Resume(u8),
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
    /// A waiter is notified, or a unit is added; or all waiters are notified.
    Signal(bool),
    /// The store refuses the oldest request with one of some errors.
    Refuse(u8, u8),
    /// The client asks the store one of some things.
    Ask(u8, u8),
    /// An operator takes the lock away.
    Force,
    /// An operator looks who holds the lock.
    Look,
    /// An operator ends the hold that it has seen.
    Kick,
    /// The store is restarted, and has lost its data.
    Restart,
    /// A notified call gives its notification back.
    Return(u8, u8),
    /// The `expire` of a call begins again.
    Renew(u8, u8),
    /// The client takes no new calls.
    Drain(u8),
    /// The client ends.
    Close(u8),
    /// A stranger hears a message to the client.
    Overhear(u8, u8),
    /// A stranger sends one of the things that it can make of what it has heard.
    Forge(u8),
    /// The replica copies the store's state.
    Replicate,
    /// The replica takes over.
    Failover,
}

/// With what the store may refuse a request.
pub(super) const ERRORS: [StoreErrorKind; 5] = [
    StoreErrorKind::Busy,
    StoreErrorKind::Refused,
    StoreErrorKind::Foreign,
    StoreErrorKind::Forbidden,
    StoreErrorKind::Protocol,
];
pub(super) const QUERIES: u8 = 4;

/// What a client may ask the store.
pub(super) fn query_of(number: u8) -> Op {
    match number {
        0 => Op::Inspect { above: 0 },
        1 => Op::Delete,
        2 => Op::Force,
        _ => {
            let (token, by) = (0, SharedStr::EMPTY);
            Op::Kick { token, by }
        }
    }
}

impl Action {
    /// The same of other clients.
    pub(crate) fn renumbered(self, number: impl Fn(u8) -> u8) -> Self {
        match self {
            Self::Enter(me) => Self::Enter(number(me)),
            Self::Release(me, index) => Self::Release(number(me), index),
            Self::Export(me, index) => Self::Export(number(me), index),
            Self::Adopt(me) => Self::Adopt(number(me)),
            Self::Leave(me, index) => Self::Leave(number(me), index),
            Self::Due(me) => Self::Due(number(me)),
            Self::ReleaseKept(me) => Self::ReleaseKept(number(me)),
            Self::Execute(me) => Self::Execute(number(me)),
            Self::Reply(me) => Self::Reply(number(me)),
            Self::Message(me, index) => Self::Message(number(me), index),
            Self::Copy(me, index) => Self::Copy(number(me), index),
            Self::Lose(me, index) => Self::Lose(number(me), index),
            Self::Late(me, index) => Self::Late(number(me), index),
            Self::Break(me) => Self::Break(number(me)),
            Self::Connect(me) => Self::Connect(number(me)),
            Self::Resume(me) => Self::Resume(number(me)),
            Self::Crash(me) => Self::Crash(number(me)),
            Self::Notice(me) => Self::Notice(number(me)),
            Self::Doubt(me) => Self::Doubt(number(me)),
            Self::Tick(slow) => {
                let slow = (0..8).filter(|index| slow >> index & 1 == 1);
                Self::Tick(slow.map(|index| 1 << number(index)).sum())
            }
            Self::Refuse(me, error) => Self::Refuse(number(me), error),
            Self::Ask(me, query) => Self::Ask(number(me), query),
            Self::Return(me, index) => Self::Return(number(me), index),
            Self::Renew(me, index) => Self::Renew(number(me), index),
            Self::Drain(me) => Self::Drain(number(me)),
            Self::Close(me) => Self::Close(number(me)),
            Self::Overhear(me, index) => Self::Overhear(number(me), index),
            Self::StepBack | Self::Signal(_) | Self::Force | Self::Look | Self::Kick => self,
            Self::Forge(_) => self,
            Self::Restart | Self::Replicate | Self::Failover => self,
        }
    }
}

/// What calls do, rather than what happens to them.
pub(crate) fn is_of_call(action: Action) -> bool {
    use Action::{Enter, Leave, Release};
    matches!(action, Enter(_) | Release(..) | Leave(..))
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
            Self::Resume(me) => write!(f, "{} goes on after it was suspended", name(me)),
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
            Self::Signal(false) => f.write_str("a waiter is notified"),
            Self::Signal(true) => f.write_str("all waiters are notified"),
            Self::Refuse(me, error) => {
                let error = ERRORS[usize::from(*error)];
                write!(f, "the store refuses {}'s: {error:?}", name(me))
            }
            Self::Ask(me, query) => {
                write!(f, "{} asks: {:?}", name(me), query_of(*query))
            }
            Self::Force => f.write_str("an operator forces the lock"),
            Self::Look => f.write_str("an operator looks who holds"),
            Self::Kick => f.write_str("an operator kicks who held then"),
            Self::Restart => f.write_str("restart without data"),
            Self::Return(me, _) => write!(f, "{} gives its notification back", name(me)),
            Self::Renew(me, _) => write!(f, "{}'s `expire` begins again", name(me)),
            Self::Drain(me) => write!(f, "{} takes no new calls", name(me)),
            Self::Close(me) => write!(f, "{} ends", name(me)),
            Self::Overhear(me, _) => write!(f, "a stranger hears a message to {}", name(me)),
            Self::Forge(way) => write!(f, "a stranger sends {}", FORGERIES[usize::from(*way)].0),
            Self::Replicate => f.write_str("the replica catches up"),
            Self::Failover => f.write_str("the replica takes over"),
        }
    }
}
