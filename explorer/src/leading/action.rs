//! [`Action`]: what can happen.

use std::fmt;

use crate::name::world::Action as Step;

/// What can happen. A number is that of the seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A step of the clients, the network, the store or the clocks.
    Network(Step),
    /// It stands.
    Stand(u8),
    /// Its call is granted: its term begins, or it asks for a longer lease.
    Begin(u8),
    /// Its body begins.
    Body(u8),
    /// Its body reports progress.
    Progress(u8),
    /// Its body returns `Ok`, or an error.
    Return(u8, bool),
    /// Its leader resigns.
    Resign(u8),
    /// Its client looks at its term.
    Look(u8),
    /// The process drains.
    Drain(u8),
    /// The process is suspended.
    Suspend(u8),
    /// The process is woken.
    Wake(u8),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index: &u8| char::from(b'A' + index);
        match self {
            Self::Network(step) => step.fmt(f),
            Self::Stand(of) => write!(f, "{} stands", name(of)),
            Self::Begin(of) => write!(f, "{} begins a term", name(of)),
            Self::Body(of) => write!(f, "{}'s body begins", name(of)),
            Self::Progress(of) => write!(f, "{}'s body makes progress", name(of)),
            Self::Return(of, true) => write!(f, "{}'s body returns Ok", name(of)),
            Self::Return(of, false) => write!(f, "{}'s body returns an error", name(of)),
            Self::Resign(of) => write!(f, "{} resigns", name(of)),
            Self::Look(of) => write!(f, "{} looks at its term", name(of)),
            Self::Drain(of) => write!(f, "{} drains", name(of)),
            Self::Suspend(of) => write!(f, "{} is suspended", name(of)),
            Self::Wake(of) => write!(f, "{} is woken", name(of)),
        }
    }
}
