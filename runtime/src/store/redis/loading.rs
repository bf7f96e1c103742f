//! The scripts, where a server does not know them: [`supply`].
//!
//! All clients of a server that was restarted find them missing at the same time. One of them loads them, and the others
//! wait for that: some tens of KB, which a thousand clients would make as many MB.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::backoff::Backoff;
use super::connect::accept;
use super::error;
use super::refusal::Refusal;
use super::scripts::Scripts;
use super::wire::{self, Connection, Limits, Value, silent};
use crate::error::StoreErrorKind;
use crate::store::MemberId;

/// How long the others wait for the one who loads them; he may be gone.
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
    reply: &Value<'_>,
    scripts: &'a Scripts,
) -> Result<Vec<&'a str>, Refusal> {
    accept(reply)?;
    let Value::List(known) = reply else {
        return Err(Refusal::nonsense());
    };
    let known = |index| known.get(index) == Some(&Value::Integer(1));
    let texts = scripts.texts().enumerate();
    Ok(texts
        .filter(|(index, _)| !known(*index))
        .map(|(_, text)| text)
        .collect())
}

/// Loads what is `missing`, or waits for another client that does. `key`: one by which clients can agree who it is; without
/// it each loads for itself.
pub(super) async fn supply<'a>(
    connection: &mut Connection,
    scripts: &'a Scripts,
    key: Option<&str>,
    member: MemberId,
    mut missing: Vec<&'a str>,
    limits: Limits,
) -> Result<(), Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let mut backoff = Backoff::new();
    while let Some(key) = key {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SET", key]);
            words.word(member);
            words.texts(&["NX", "PX"]);
            words.number(CLAIM.as_millis() as u64);
        });
        // Behind it: who had the claim before may have loaded them.
        ask(&mut question, scripts);
        connection.send(&question).await.map_err(lost)?;
        let claimed = claimed(&connection.reply().await.map_err(lost)?)?;
        missing = self::missing(&connection.reply().await.map_err(lost)?, scripts)?;
        if claimed {
            break;
        }
        // Whoever had the claim is done, however late it is.
        if missing.is_empty() {
            return Ok(());
        }
        let pause = backoff.next();
        if Instant::now() + pause >= limits.end {
            return Err(lost(silent()));
        }
        sleep(pause).await;
    }
    let mut question = Vec::new();
    for text in &missing {
        load(&mut question, text);
    }
    if let Some(key) = key {
        wire::command(&mut question, |words| words.texts(&["DEL", key]));
    }
    connection.send(&question).await.map_err(lost)?;
    for _ in &missing {
        accept(&connection.reply().await.map_err(lost)?)?;
    }
    if key.is_some() {
        // It ends by itself too.
        connection.reply().await.map_err(lost)?;
    }
    Ok(())
}

/// Appends a script.
pub(super) fn load(out: &mut Vec<u8>, text: &str) {
    wire::command(out, |words| words.texts(&["SCRIPT", "LOAD", text]));
}

/// Whether it is this client that loads them; also where the server cannot keep a claim just now.
fn claimed(reply: &Value<'_>) -> Result<bool, Refusal> {
    match reply {
        Value::Error(error) => {
            let ends = error::ends_connection(error);
            let error = error::of_server(error);
            match ends || error.kind() == StoreErrorKind::Forbidden {
                true => Err(Refusal::of(error)),
                false => Ok(true),
            }
        }
        Value::Nil => Ok(false),
        _ => Ok(true),
    }
}
