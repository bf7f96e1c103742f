//! What a sentinel is asked, on a connection to it.

use super::super::connect::error::{ConnectError, accept};
use super::super::connect::hello::greet;
use super::super::wire::{self, Connection, Limits, Value};
use super::primary::{self, Primary};
use crate::config::{Address, Login, Tls};
use crate::error::StoreError;

/// The channel that tells when a service has another primary.
const SWITCHED: &str = "+switch-master";

/// Connects and logs in.
pub(super) async fn open(
    address: &Address,
    login: &Login,
    tls: Option<&Tls>,
    limits: Limits,
) -> Result<Connection, ConnectError> {
    let mut sentinel = Connection::open(address, tls, limits).await?;
    let greeting = accept(sentinel.ask(|words| greet(words, login)).await?)?;
    match greeting.field("mode").and_then(Value::as_text) {
        Some("sentinel") => Ok(sentinel),
        _ => Err(unreachable("it is a Redis server, not a sentinel")),
    }
}

/// The primary of `service`; `None`: this sentinel does not know the service.
pub(super) async fn primary(
    sentinel: &mut Connection,
    service: &str,
) -> Result<Option<Primary>, ConnectError> {
    let asked = sentinel.ask(|words| words.texts(&["SENTINEL", "MASTER", service]));
    match asked.await? {
        Value::Error(error) if error.details.contains("No such master") => Ok(None),
        reply => match Primary::read(&accept(reply)?) {
            Some(primary) => Ok(Some(primary)),
            None => Err(unreachable("the sentinel's answer makes no sense")),
        },
    }
}

/// The other sentinels of `service`.
pub(super) async fn others(
    sentinel: &mut Connection,
    service: &str,
) -> Result<Vec<Address>, ConnectError> {
    let asked = sentinel.ask(|words| words.texts(&["SENTINEL", "SENTINELS", service]));
    Ok(primary::addresses(&accept(asked.await?)?))
}

/// From now on the sentinel tells when a service has another primary.
pub(super) async fn subscribe(sentinel: &mut Connection) -> Result<(), ConnectError> {
    let mut question = Vec::new();
    wire::command(&mut question, |words| words.texts(&["SUBSCRIBE", SWITCHED]));
    sentinel.send(&question).await?;
    accept(sentinel.next().await?).map(drop)
}

/// Completes when the sentinel tells so of any service. It may be dropped before.
pub(super) async fn switched(sentinel: &mut Connection) -> Result<(), ConnectError> {
    loop {
        if let Value::Push(words) = sentinel.whenever().await?
            && words.get(1).and_then(Value::as_text) == Some(SWITCHED)
        {
            return Ok(());
        }
    }
}

fn unreachable(message: &'static str) -> ConnectError {
    ConnectError::Unreachable(StoreError::disconnected(message))
}
