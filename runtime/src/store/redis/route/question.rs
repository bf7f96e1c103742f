//! [`Sentinel`]: a connection to one sentinel, and what it can be asked.

use std::io;

use super::super::refusal::Refusal;
use super::super::wire::{self, Connection, Limits, Value};
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
        limits: Limits,
    ) -> Result<Self, Refusal> {
        let connection = Connection::open(address, tls, limits).await;
        let connection = connection.map_err(|error| lost(&error))?;
        let mut sentinel = Self { connection };
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            connect::greet(words, login);
        });
        let greeting = sentinel.ask(&question).await?;
        match greeting {
            Value::Map(fields) if is_sentinel(&fields) => Ok(sentinel),
            _ => Err(unreachable("it is a Redis server, not a sentinel")),
        }
    }

    /// The primary of `service`; `None`: this sentinel does not know the service.
    pub(super) async fn primary(&mut self, service: &str) -> Result<Option<Primary>, Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SENTINEL", "MASTER", service]);
        });
        self.send(&question).await?;
        match self
            .connection
            .reply()
            .await
            .map_err(|error| lost(&error))?
        {
            Value::Error(error) if error.details.contains("No such master") => Ok(None),
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            reply => match Primary::read(&reply) {
                Some(primary) => Ok(Some(primary)),
                None => Err(unreachable("the sentinel's answer makes no sense")),
            },
        }
    }

    /// The other sentinels of `service`.
    pub(super) async fn others(&mut self, service: &str) -> Result<Vec<Address>, Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SENTINEL", "SENTINELS", service]);
        });
        Ok(primary::addresses(&self.ask(&question).await?))
    }

    /// From now on it tells when a service has another primary.
    pub(super) async fn subscribe(&mut self) -> Result<(), Refusal> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.texts(&["SUBSCRIBE", "+switch-master"]);
        });
        self.send(&question).await?;
        match self.connection.next().await.map_err(|error| lost(&error))? {
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            _ => Ok(()),
        }
    }

    /// Completes when it tells so of any service. It may be dropped before.
    pub(super) async fn switched(&mut self) -> Result<(), Refusal> {
        loop {
            let said = self.connection.whenever().await;
            if let Value::Push(words) = said.map_err(|error| lost(&error))?
                && words.get(1) == Some(&Value::Text(SWITCHED))
            {
                return Ok(());
            }
        }
    }

    async fn send(&mut self, question: &[u8]) -> Result<(), Refusal> {
        let sent = self.connection.send(question).await;
        sent.map_err(|error| lost(&error))
    }

    async fn ask(&mut self, question: &[u8]) -> Result<Value<'_>, Refusal> {
        self.send(question).await?;
        match self
            .connection
            .reply()
            .await
            .map_err(|error| lost(&error))?
        {
            Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
            reply => Ok(reply),
        }
    }
}

fn lost(error: &io::Error) -> Refusal {
    match Refusal::of_socket(error) {
        Refusal::Silent(_) => {
            let text = "the sentinel does not answer";
            Refusal::SilentSentinels(StoreError::disconnected(text))
        }
        refusal => refusal,
    }
}

fn unreachable(message: &'static str) -> Refusal {
    Refusal::Unreachable(StoreError::disconnected(message))
}

fn is_sentinel(fields: &[(Value<'_>, Value<'_>)]) -> bool {
    let mode = (Value::Text(b"mode"), Value::Text(b"sentinel"));
    fields.contains(&mode)
}
