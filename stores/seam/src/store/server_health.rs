//! [`ServerHealth`]: what is known about a server without asking it.

use std::fmt;
use std::time::Duration;

use super::Closed;
use crate::base::clock;
use crate::base::error::StoreError;

/// The state of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerHealth {
    /// Host and port, or the socket file. With sentinels, this is the current primary.
    pub address: String,
    /// Whether the server is connected.
    pub connected: bool,
    /// How long the server still grants nothing, after a restart or a failover; `None` if it grants.
    pub closed_for: Option<Duration>,
    /// Why the server is not connected.
    pub error: Option<StoreError>,
}

impl ServerHealth {
    /// For engines. With an error, the server is down; while `closed`, it grants nothing.
    #[doc(hidden)]
    pub fn new(address: String, error: Option<StoreError>, closed: Option<Closed>) -> Self {
        Self {
            address,
            connected: error.is_none(),
            closed_for: closed.and_then(|closed| closed.left(clock::now())),
            error,
        }
    }

    #[doc(hidden)]
    pub fn grants(&self) -> bool {
        self.connected && self.closed_for.is_none()
    }
}

impl fmt::Display for ServerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        write_state(f, self.connected, self.closed_for)?;
        self.error
            .as_ref()
            .map_or(Ok(()), |error| write!(f, ": {error}"))
    }
}

#[doc(hidden)]
pub fn write_state(
    f: &mut fmt::Formatter<'_>,
    connected: bool,
    closed_for: Option<Duration>,
) -> fmt::Result {
    let not = if connected { "" } else { "not " };
    write!(f, "; {not}connected")?;
    closed_for.map_or(Ok(()), |left| {
        write!(f, "; grants nothing for another {left:.0?}")
    })
}
