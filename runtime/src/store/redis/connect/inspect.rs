//! [`open`]: opens a connection for reading. It changes nothing on the server: it writes no term note, claim or probe,
//! and subscribes to no channel.

use super::super::route::Route;
use super::super::scripts::Scripts;
use super::error::{ConnectError, accept};
use super::{hello, loading};
use crate::config::{Access, Address};
use crate::store::MemberId;
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

/// Connects, logs in, and checks the server. Loads missing scripts: they are no data, so this is allowed.
pub(in super::super) async fn open(
    route: &Route,
    access: &Access,
    scripts: &Scripts,
    limits: Limits,
) -> Result<Opened, ConnectError> {
    let address = route.resolve(limits).await?.address;
    let in_cluster = scripts.are_of_cluster();
    let greeted = hello::open(&address, access, in_cluster, Some(NAME), limits).await?;
    hello::accept_primary(&greeted.role)?;
    let mut connection = greeted.connection;
    let mut question = Vec::new();
    if access.db != 0 {
        redis::cmd("SELECT")
            .arg(access.db)
            .write_packed_command(&mut question);
    }
    loading::ask(&mut question, scripts);
    connection.send(&question).await?;
    if access.db != 0 {
        accept(connection.reply().await?).map_err(|error| error.of_select(access.db))?;
    }
    let missing = loading::missing(connection.reply().await?, scripts)?;
    let knew_scripts = missing.is_empty();
    if !knew_scripts {
        // The scripts are loaded without a claim, because a claim is a key.
        let nobody = MemberId::random();
        loading::supply(&mut connection, scripts, None, nobody, missing).await?;
    }
    Ok(Opened {
        address,
        connection,
        knew_scripts,
    })
}
