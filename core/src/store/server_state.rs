//! [`ServerState`]: the state of a server, as far as it is known without asking the server.

use super::GrantBlock;
use crate::base::error::StoreError;

/// A server in use.
#[derive(Clone, Debug)]
pub struct ServerState {
    /// The address, without credentials.
    pub address: String,
    /// Why the server is not connected; `None` if it is connected.
    pub down: Option<StoreError>,
    /// Until when the server grants nothing; `None` if it grants.
    pub closing: Option<GrantBlock>,
}
