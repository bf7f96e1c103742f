//! Loads the scripts into a server that lacks them: [`supply`].
//!
//! After a restart of the server, all clients find the scripts missing at the same time. One client loads them, and
//! the others wait: tens of KB from each of a thousand clients would be tens of MB.

use std::time::Duration;

use tokio::time::sleep;

use super::super::error;
use super::super::scripts::Scripts;
use super::backoff::Backoff;
use super::error::{ConnectError, accept};
use crate::error::StoreErrorKind;
use crate::store::MemberId;
use crate::wire::{self, Connection, Value};

/// How long the other clients wait for the client that claimed the loading; it may be dead.
const CLAIM: Duration = Duration::from_secs(2);

/// Appends a query for the scripts that the server has.
pub(super) fn ask(out: &mut Vec<u8>, scripts: &Scripts) {
    wire::command(out, |words| {
        words.texts(&["SCRIPT", "EXISTS"]);
        for digest in scripts.digests() {
            words.text(digest);
        }
    });
}

/// The scripts that the server lacks, by its reply to [`ask`].
pub(super) fn missing<'a>(
    reply: Value<'_>,
    scripts: &'a Scripts,
) -> Result<Vec<&'a str>, ConnectError> {
    let Value::List(known) = accept(reply)? else {
        return Err(ConnectError::nonsense());
    };
    let known = |index| known.get(index) == Some(&Value::Integer(1));
    let texts = scripts.texts().enumerate();
    Ok(texts
        .filter(|(index, _)| !known(*index))
        .map(|(_, text)| text)
        .collect())
}

/// Loads the scripts that are `missing`, or waits for another client that loads them, without a limit. Clients
/// coordinate through `key`; without one, each client loads them itself.
pub(in super::super) async fn supply<'a>(
    connection: &mut Connection,
    scripts: &'a Scripts,
    key: Option<&str>,
    member: MemberId,
    mut missing: Vec<&'a str>,
) -> Result<(), ConnectError> {
    let mut backoff = Backoff::new();
    while let Some(key) = key {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SET", key]);
            words.word(member);
            words.texts(&["NX", "PX"]);
            words.number(CLAIM.as_millis() as u64);
        });
        // Asks again after the claim, because the client that held the previous claim may have loaded the scripts by
        // then.
        ask(&mut question, scripts);
        connection.send(&question).await?;
        let claimed = claimed(&connection.reply().await?)?;
        missing = self::missing(connection.reply().await?, scripts)?;
        if claimed {
            break;
        }
        if missing.is_empty() {
            return Ok(());
        }
        sleep(backoff.next()).await;
    }
    let mut question = Vec::new();
    for text in &missing {
        load(&mut question, text);
    }
    if let Some(key) = key {
        wire::command(&mut question, |words| words.texts(&["DEL", key]));
    }
    connection.send(&question).await?;
    for _ in &missing {
        accept(connection.reply().await?)?;
    }
    if key.is_some() {
        // The reply does not matter, because the claim also expires by itself.
        connection.reply().await?;
    }
    Ok(())
}

/// Appends a script.
pub(in super::super) fn load(out: &mut Vec<u8>, text: &str) {
    wire::command(out, |words| words.texts(&["SCRIPT", "LOAD", text]));
}

/// Whether this client loads the scripts. Also `true` if the server cannot store a claim now.
fn claimed(reply: &Value<'_>) -> Result<bool, ConnectError> {
    match reply {
        Value::Error(error) => {
            let ends = error::ends_connection(error);
            let error = error::of_server(error);
            match ends || error.kind() == StoreErrorKind::Forbidden {
                true => Err(ConnectError::of(error)),
                false => Ok(true),
            }
        }
        Value::Nil => Ok(false),
        _ => Ok(true),
    }
}
