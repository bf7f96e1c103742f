//! Loads the scripts into a server that lacks them. After a restart, all clients notice this at once: one loads them
//! and the others wait, because tens of kilobytes from each of a thousand clients would add up.

use std::time::Duration;

use auto_mutex_net::{Backoff, FIRST_PAUSE, USUAL_SILENCE};
use auto_mutex_seam::store::{MemberId, StoreErrorKind};
use tokio::time::sleep;

use crate::error::{self, Code};
use crate::login::error::{ConnectError, accept, nonsense, refused};
use crate::script::Scripts;
use crate::wire::{Connection, Value};

/// How long a client may take to load the scripts before another one does.
const LOADING: Duration = Duration::from_secs(2);

pub(super) fn ask(question: &mut redis::Pipeline, scripts: &Scripts) {
    let exists = question.cmd("SCRIPT").arg("EXISTS");
    exists.arg(&scripts.digests());
}

pub(super) fn missing<'a>(
    reply: Value<'_>,
    scripts: &'a Scripts,
) -> Result<Vec<&'a str>, ConnectError> {
    let reply = accept(reply)?;
    let known = reply.as_list().ok_or_else(nonsense)?;
    let known = |index| known.get(index) == Some(&Value::Integer(1));
    let texts = scripts.texts().enumerate();
    Ok(texts
        .filter(|(index, _)| !known(*index))
        .map(|(_, text)| text)
        .collect())
}

/// The wait for another client is not limited. Without `key`, each client loads the scripts itself.
pub(crate) async fn supply<'a>(
    connection: &mut Connection,
    scripts: &'a Scripts,
    key: Option<&str>,
    member: MemberId,
    mut missing: Vec<&'a str>,
) -> Result<(), ConnectError> {
    let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
    while let Some(key) = key {
        let mut question = redis::pipe();
        let mark = question.cmd("SET").arg(key).arg(member.to_string());
        mark.arg("NX").arg("PX").arg(LOADING.as_millis() as u64);
        // Asks again which scripts are missing, because another client may have loaded them.
        ask(&mut question, scripts);
        connection.send(&question.get_packed_pipeline()).await?;
        let loads = may_load(&connection.reply().await?)?;
        missing = self::missing(connection.reply().await?, scripts)?;
        if loads {
            break;
        }
        if missing.is_empty() {
            return Ok(());
        }
        sleep(backoff.pause()).await;
    }
    let mut question = redis::pipe();
    for text in &missing {
        question.cmd("SCRIPT").arg("LOAD").arg(text);
    }
    if let Some(key) = key {
        question.cmd("DEL").arg(key);
    }
    connection.send(&question.get_packed_pipeline()).await?;
    for _ in &missing {
        accept(connection.reply().await?)?;
    }
    if key.is_some() {
        connection.reply().await?;
    }
    Ok(())
}

/// Whether this client should load the scripts. Also true if the server can't store `key`, for example for lack of
/// memory.
fn may_load(reply: &Value<'_>) -> Result<bool, ConnectError> {
    match reply {
        Value::Error(error) => {
            let ends = Code::of(error).ends_connection();
            let error = error::of_server(error);
            match ends || error.kind() == StoreErrorKind::Forbidden {
                true => Err(refused(error)),
                false => Ok(true),
            }
        }
        Value::Nil => Ok(false),
        _ => Ok(true),
    }
}
