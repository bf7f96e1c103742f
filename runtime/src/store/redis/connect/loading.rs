//! The scripts, where a server does not know them: [`supply`].
//!
//! All clients of a server that was restarted find them missing at the same time. One of them loads them, and the others
//! wait for that: some tens of KB from each of a thousand clients would be as many MB.

use std::time::Duration;

use tokio::time::sleep;

use super::super::error;
use super::super::scripts::Scripts;
use super::backoff::Backoff;
use super::error::{ConnectError, accept};
use crate::error::StoreErrorKind;
use crate::store::MemberId;
use crate::wire::{self, Connection, Value};

/// How long the others wait for the one who loads them; it may be gone.
const CLAIM: Duration = Duration::from_secs(2);

/// Appends the question which scripts the server knows.
pub(super) fn ask(out: &mut Vec<u8>, scripts: &Scripts) {
    wire::command(out, |words| {
        words.texts(&["SCRIPT", "EXISTS"]);
        for digest in scripts.digests() {
            words.text(digest);
        }
    });
}

/// The texts that the server does not know, by its answer to [`ask`].
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

/// Loads the scripts that are `missing`, or waits for another client that does, for as long as it takes. Clients agree by `key` who
/// does; without one, each loads for itself.
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
        // Asked behind it: the client that had the claim before may have loaded them.
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
        // Whatever the reply: the claim ends by itself too.
        connection.reply().await?;
    }
    Ok(())
}

/// Appends a script.
pub(in super::super) fn load(out: &mut Vec<u8>, text: &str) {
    wire::command(out, |words| words.texts(&["SCRIPT", "LOAD", text]));
}

/// Whether it is this client that loads them; also where the server cannot keep a claim just now.
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
