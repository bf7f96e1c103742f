//! [`Action`]: what can happen.

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
