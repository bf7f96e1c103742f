//! [`ServerState`]: the state of a server, as far as it is known without asking the server.

use super::GrantBlock;
use crate::error::StoreError;

/// Whether a server is connected, and whether it grants.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkState {
    /// Why the server is not connected; `None` if it is connected.
    pub(crate) down: Option<StoreError>,
    /// Until when the server grants nothing; `None` if it grants.
    pub(crate) closing: Option<GrantBlock>,
}

/// A server in use.
#[derive(Clone, Debug)]
pub(crate) struct ServerState {
    pub(crate) address: String,
    pub(crate) link: LinkState,
}

impl LinkState {
    /// The state of the server at `address`.
    pub(crate) fn of(self, address: String) -> ServerState {
        let link = self;
        ServerState { address, link }
    }
}
