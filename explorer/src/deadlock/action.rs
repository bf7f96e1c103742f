//! [`Action`]: what can happen.

use std::fmt;

/// How a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The ticket leaves the store.
    Release,
    /// Another task of the member gets the ticket.
    Handoff,
    /// The ticket stays in the store for a time.
    Park,
}

/// What can happen. The first number is that of the task, the name or the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A task asks for units of a name.
    Lock(u8, u8, u32),
    /// A task releases the last lock that it took.
    Release(u8, End),
    /// A task that waits loses the hold with this index.
    Lose(u8, u8, End),
    /// A task gives up waiting.
    Cancel(u8),
    /// A parked ticket of a name ends.
    Unpark(u8),
    /// A member dies.
    Die(u8),
    /// The tickets of dead members at a name end.
    Expire(u8),
    /// A search begins.
    Search,
    /// The question with this index is answered. If `true`, a copy of the answer stays in flight.
    Answer(u8, bool),
    /// The copy of an answer arrives.
    Copy,
    /// The pass ends without further answers.
    EndPass,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |name: &u8| char::from(b'A' + name);
        let how = |end: &End| match end {
            End::Release => "",
            End::Handoff => ", handed off",
            End::Park => ", parked",
        };
        match self {
            Self::Lock(task, name, units) => write!(f, "t{task} locks {units} of {}", of(name)),
            Self::Release(task, end) => write!(f, "t{task} releases{}", how(end)),
            Self::Lose(task, place, end) => {
                write!(f, "t{task} loses hold {}{}", place + 1, how(end))
            }
            Self::Cancel(task) => write!(f, "t{task} gives up"),
            Self::Unpark(name) => write!(f, "the parked ticket of {} ends", of(name)),
            Self::Die(member) => write!(f, "member {member} dies"),
            Self::Expire(name) => write!(f, "the dead member's tickets of {} end", of(name)),
            Self::Search => f.write_str("a search begins"),
            Self::Answer(index, copy) => {
                let copy = if *copy { ", and copied" } else { "" };
                write!(f, "question {} is answered{copy}", index + 1)
            }
            Self::Copy => f.write_str("the copy arrives"),
            Self::EndPass => f.write_str("the pass ends"),
        }
    }
}
