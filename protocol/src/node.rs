//! [`Node`]: a server of a store, and [`NodeChange`]: what its store reports of it.

use crate::{Closed, StoreError};

/// A server of a store, with its own connection. Most stores have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u32);

impl Node {
    /// The node of a store with one server.
    pub const ONLY: Self = Self(0);
}

/// A change of the state of a [`Node`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeChange {
    /// It is connected, and subscribed to the member's channel. The member must touch every ticket of the node.
    /// Reported for every connection, including the first.
    Connected {
        /// Whether the node had a connection or requests before.
        again: bool,
    },
    /// The connection is lost. Requests for the node's names fail until it is connected.
    Disconnected(StoreError),
    /// Another attempt to connect failed for this reason.
    StillDisconnected(StoreError),
    /// It is connected, but grants nothing until this time; `None` means that it grants. Reported before `Connected`,
    /// and on every change.
    Closed(Option<Closed>),
    /// Its locks are gone, whatever it says later: the holds of the node's names end now.
    Forgotten,
    /// It has stopped serving names for good.
    Gone,
}
