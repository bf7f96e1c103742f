//! [`Session`]: a connection after the login, while it is set up.

use std::sync::Arc;

use auto_mutex_core::store::{Address, ConnectError, Trouble, first};
use tokio_postgres::{Client, Connection, Error, SimpleQueryMessage, SimpleQueryRow};

use crate::socket::Channel;
use crate::{error, reply};

pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) connection: Connection<Channel, Channel>,
    pub(crate) address: Address,
    /// The process that the server has named at the login.
    pub(crate) pid: i32,
}

impl Session {
    /// Waits for answers to the client of this connection, which nobody else serves meanwhile. Messages that arrive are lost: once
    /// connected, a member asks for all that it waits for.
    pub(crate) async fn ask<T>(
        &mut self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ConnectError> {
        let served = async {
            match (&mut self.connection).await {
                Ok(()) => {
                    let text = "the server closed the connection";
                    Err(ConnectError::unreachable(text))
                }
                Err(error) => Err(error::refused(&error)),
            }
        };
        let work = async { work.await.map_err(|error| error::refused(&error)) };
        first(work, served).await
    }

    /// Runs SQL without a result.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<(), ConnectError> {
        let client = self.client.clone();
        self.ask(client.batch_execute(sql)).await
    }

    /// The first row of a query.
    pub(crate) async fn row(&mut self, query: &str) -> Result<SimpleQueryRow, ConnectError> {
        let client = self.client.clone();
        let asked = self.ask(client.simple_query(query));
        rows(asked.await?).next().ok_or_else(nonsense)
    }
}

pub(super) fn nonsense() -> ConnectError {
    ConnectError::Unreachable(Trouble::Unreachable, reply::nonsense())
}

pub(crate) fn rows(answer: Vec<SimpleQueryMessage>) -> impl Iterator<Item = SimpleQueryRow> {
    answer.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    })
}
