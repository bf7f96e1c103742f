//! [`Session`]: a connection after the login, while it is set up.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use auto_mutex_core::store::{Address, ConnectError, Trouble};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, SimpleQueryMessage, SimpleQueryRow};

use crate::socket::Channel;
use crate::{error, reply};

pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) connection: Connection<Channel, Channel>,
    /// Payloads of notifications that arrived during the set-up.
    pub(crate) told: VecDeque<String>,
    pub(crate) address: Address,
    /// The process that the server has named at the login.
    pub(crate) pid: i32,
}

impl Session {
    /// Waits for answers to the client of this connection, which nobody else serves meanwhile.
    pub(crate) async fn ask<T>(
        &mut self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ConnectError> {
        let mut work = pin!(work);
        let asked = poll_fn(|cx| {
            loop {
                if let Poll::Ready(done) = work.as_mut().poll(cx) {
                    return Poll::Ready(done.map_err(|error| error::refused(&error)));
                }
                match self.connection.poll_message(cx) {
                    Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => {
                        self.told.push_back(message.payload().to_owned());
                    }
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(Some(Err(error))) => {
                        return Poll::Ready(Err(error::refused(&error)));
                    }
                    Poll::Ready(None) => {
                        let text = "the server closed the connection";
                        return Poll::Ready(Err(ConnectError::unreachable(text)));
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
        asked.await
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
