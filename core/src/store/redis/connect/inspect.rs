//! [`Opened`]: a connection for reading. It writes no key on the server: it notes no term, loads missing scripts without
//! the key that keeps other clients from loading them too (see `loading.rs`), and runs no checks on a reserved name (see
//! `probe.rs`). It subscribes to no channel.

use super::error::ConnectError;
use super::{Connector, loading};
use crate::config::Address;
use crate::wire::{Connection, Limits};

/// The name of a connection for reading in `CLIENT LIST`.
const NAME: &str = "auto_mutex:operator";

/// A connection for reading.
pub(in super::super) struct Opened {
    pub(in super::super) address: Address,
    pub(in super::super) connection: Connection,
    /// Whether the server knew the scripts before this connection.
    pub(in super::super) knew_scripts: bool,
}

impl Connector {
    /// Opens a connection for reading. Loads missing scripts: they are no data, so this is allowed.
    pub(in super::super) async fn for_reading(&self) -> Result<Opened, ConnectError> {
        let limits = Limits::new(self.connect_timeout, self.connect_timeout);
        limits.within(self.read_within(limits)).await
    }

    async fn read_within(&self, limits: Limits) -> Result<Opened, ConnectError> {
        let (server, greeted) = self.greeted(NAME, limits).await?;
        let mut connection = greeted.connection;
        let mut question = Vec::new();
        self.select(&mut question);
        loading::ask(&mut question, &self.scripts);
        connection.send(&question).await?;
        self.selected(&mut connection).await??;
        let missing = loading::missing(connection.reply().await?, &self.scripts)?;
        let knew_scripts = missing.is_empty();
        if !knew_scripts {
            // The scripts are loaded without a claim, because a claim is a key.
            loading::supply(&mut connection, &self.scripts, None, self.member, missing).await?;
        }
        Ok(Opened {
            address: server.address,
            connection,
            knew_scripts,
        })
    }
}
