//! [`open`]: opens a connection that changes nothing on the server: it notes no term, claims nothing, probes nothing,
//! and listens to no channel.

use super::super::route::Route;
use super::super::scripts::Scripts;
use super::error::{ConnectError, accept};
use super::{hello, loading};
use crate::config::{Access, Address};
use crate::store::MemberId;
use crate::wire::{self, Connection, Limits};

/// The name of such a connection in `CLIENT LIST`.
const NAME: &str = "auto_mutex:operator";

/// A connection for reading.
pub(in super::super) struct Opened {
    pub(in super::super) address: Address,
    pub(in super::super) connection: Connection,
    /// Whether the server knew the scripts before.
    pub(in super::super) knew_scripts: bool,
}

/// Connects, logs in, checks the server, and loads the scripts if they are missing: they are no data.
pub(in super::super) async fn open(
    route: &Route,
    access: &Access,
    scripts: &Scripts,
    limits: Limits,
) -> Result<Opened, ConnectError> {
    let address = route.resolve(limits).await?.address;
    let mut question = Vec::new();
    wire::command(&mut question, |words| {
        hello::write(words, &access.login);
        words.texts(&["SETNAME", NAME]);
    });
    let in_cluster = scripts.are_of_cluster();
    let opened = hello::open(&address, access, in_cluster, &question, limits).await?;
    let (mut connection, role) = opened;
    hello::accept_primary(&role)?;
    question.clear();
    if access.db != 0 {
        wire::command(&mut question, |words| {
            words.text("SELECT");
            words.number(access.db.into());
        });
    }
    loading::ask(&mut question, scripts);
    connection.send(&question).await?;
    if access.db != 0 {
        accept(connection.reply().await?)?;
    }
    let missing = loading::missing(connection.reply().await?, scripts)?;
    let knew_scripts = missing.is_empty();
    if !knew_scripts {
        // Without a claim, which would be a key.
        let nobody = MemberId::random();
        loading::supply(&mut connection, scripts, None, nobody, missing).await?;
    }
    Ok(Opened {
        address,
        connection,
        knew_scripts,
    })
}
