//! [`Action`]: what can happen.

use auto_mutex_protocol::{Op, SharedStr};

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
    /// The store says one of some things about its server.
    Report(u8, u8),
    /// The store frees memory, and drops what is over.
    Sweep,
    /// A call finds that its grant has ended, and asks again.
    Miss(u8, u8),
    /// The store answers the oldest request with one of some errors, or with nonsense.
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
    pub(crate) fn renumbered(mut self, number: impl Fn(u8) -> u8) -> Self {
        use Action::*;
        match &mut self {
            Enter(me)
            | Release(me, _)
            | Export(me, _)
            | Adopt(me)
            | Leave(me, _)
            | Due(me)
            | Resume(me)
            | ReleaseKept(me)
            | Execute(me)
            | Reply(me)
            | Message(me, _)
            | Copy(me, _)
            | Lose(me, _)
            | Late(me, _)
            | Break(me)
            | Connect(me)
            | Crash(me)
            | Notice(me)
            | Doubt(me)
            | Refuse(me, _)
            | Report(me, _)
            | Miss(me, _)
            | Ask(me, _)
            | Return(me, _)
            | Renew(me, _)
            | Drain(me)
            | Close(me)
            | Overhear(me, _) => {
                *me = number(*me);
            }
            Tick(slow) => {
                let members = (0..8).filter(|index| *slow >> index & 1 == 1);
                *slow = members.map(|index| 1 << number(index)).sum();
            }
            StepBack | Signal(_) | Force | Look | Kick | Restart | Forge(_) | Sweep | Replicate
            | Failover => {}
        }
        self
    }
}

/// What calls do, rather than what happens to them.
pub(crate) fn is_of_call(action: Action) -> bool {
    use Action::{Enter, Leave, Release};
    matches!(action, Enter(_) | Release(..) | Leave(..))
}
