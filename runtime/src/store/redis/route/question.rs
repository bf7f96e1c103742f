//! [`Sentinel`]: a connection to one sentinel, and what it can be asked.

use std::future::Future;
use std::io;

use tokio::time::{Instant, timeout_at};

use super::super::refusal::Refusal;
use super::super::wire::{self, Connection, Value};
use super::super::{connect, error};
use super::primary::{self, Primary};
use crate::config::{Address, Login, Tls};
use crate::error::StoreError;

/// Told when a service has another primary.
const SWITCHED: &[u8] = b"+switch-master";

pub(super) struct Sentinel {
    connection: Connection,
}

impl Sentinel {
    /// Connects and logs in.
    pub(super) async fn open(
        address: &Address,
        login: &Login,
        tls: Option<&Tls>,
        end: Instant,
    ) -> Result<Self, Refusal> {
        let connection = Connection::open(address, tls, end);
        let connection = in_time(end, connection).await?;
        let mut sentinel = Self { connection };
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            connect::greet(words, login);
        });
        let greeting = sentinel.ask(&question, end).await?;
        match greeting {
            Value::Map(fields) if is_sentinel(&fields) => Ok(sentinel),
            _ => Err(unreachable("it is a Redis server, not a sentinel")),
        }
    }

    /// The primary of `service`; `None`: this sentinel does not know the service.
    pub(super) async fn primary(
        &mut self,
        service: &str,
        end: Instant,
    ) -> Result<Option<Primary>, Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SENTINEL", "MASTER", service]);
        });
        in_time(end, self.connection.send(&question)).await?;
        match in_time(end, self.connection.reply()).await? {
            Value::Error(error) if error.details.contains("No such master") => Ok(None),
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            reply => match Primary::read(&reply) {
                Some(primary) => Ok(Some(primary)),
                None => Err(unreachable("the sentinel's answer makes no sense")),
            },
        }
    }

    /// The other sentinels of `service`.
    pub(super) async fn others(
        &mut self,
        service: &str,
        end: Instant,
    ) -> Result<Vec<Address>, Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SENTINEL", "SENTINELS", service]);
        });
        Ok(primary::addresses(&self.ask(&question, end).await?))
    }

    /// From now on it tells when a service has another primary.
    pub(super) async fn subscribe(&mut self, end: Instant) -> Result<(), Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SUBSCRIBE", "+switch-master"]);
        });
        in_time(end, self.connection.send(&question)).await?;
        match in_time(end, self.connection.next()).await? {
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            _ => Ok(()),
        }
    }

    /// Completes when it tells so of any service. It may be dropped before.
    pub(super) async fn switched(&mut self) -> Result<(), Refusal> {
        loop {
            let said = self.connection.next().await;
            if let Value::Push(words) = said.map_err(|error| Refusal::of_socket(&error))?
                && words.get(1) == Some(&Value::Text(SWITCHED))
            {
                return Ok(());
            }
        }
    }

    async fn ask(&mut self, question: &[u8], end: Instant) -> Result<Value<'_>, Refusal> {
        in_time(end, self.connection.send(question)).await?;
        match in_time(end, self.connection.reply()).await? {
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            reply => Ok(reply),
        }
    }
}

async fn in_time<T>(
    end: Instant,
    asking: impl Future<Output = io::Result<T>>,
) -> Result<T, Refusal> {
    match timeout_at(end, asking).await {
        Ok(result) => result.map_err(|error| Refusal::of_socket(&error)),
        Err(_) => Err(Refusal::SilentSentinels(StoreError::disconnected(
            "the sentinel does not answer",
        ))),
    }
}

fn unreachable(message: &'static str) -> Refusal {
    Refusal::Unreachable(StoreError::disconnected(message))
}

fn is_sentinel(fields: &[(Value<'_>, Value<'_>)]) -> bool {
    let mode = (Value::Text(b"mode"), Value::Text(b"sentinel"));
    fields.contains(&mode)
}
