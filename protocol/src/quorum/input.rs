//! [`Input`]: what happens to the rounds. [`Effect`]: what follows from it.

use crate::{Answer, Message, NodeChange, Request};

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<N> {
    /// The member asks.
    Asked(Request<N>),
    /// A node has answered, perhaps at once.
    Answered {
        /// The node.
        node: usize,
        /// What it has answered.
        answer: Answer<N>,
    },
    /// A node tells something.
    Told {
        /// The node.
        node: usize,
        /// The name that it is about.
        name: N,
        /// What it tells.
        message: Message,
    },
    /// A node is connected, disconnected, open or closed.
    Changed {
        /// The node.
        node: usize,
        /// What has changed.
        change: NodeChange,
    },
    /// [`State::next_due`](super::State::next_due) has come.
    Due,
    /// The member makes no more requests.
    Close,
}

/// What follows from an input, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<N> {
    /// A node is asked. Its answer has the same id.
    Send {
        /// The node.
        node: usize,
        /// What it is asked.
        request: Request<N>,
    },
    /// The member's request is answered.
    Answer(Answer<N>),
    /// The member is told something.
    Tell {
        /// The name that it is about.
        name: N,
        /// What it is told.
        message: Message,
    },
    /// The quorum as a whole is connected, disconnected, open or closed.
    Change(NodeChange),
    /// Too many releases wait for a node: it keeps these locks until their leases end.
    Dropped {
        /// The node.
        node: usize,
        /// How many releases were dropped since it was last connected.
        releases: u64,
    },
}
