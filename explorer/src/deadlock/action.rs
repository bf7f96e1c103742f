//! [`Action`]: what can happen.

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
