//! [`Driver`]: keeps a connection for as long as the store is open.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

use super::backoff::Backoff;
use super::connect::Connector;
use super::line::Line;
use super::link::Link;
use super::store::lost;
use super::wire::{Connection, Inbox, Reading};
use crate::error::{SetupError, StoreError};
use crate::name::Name;
use crate::store::{Events, Node};

/// Runs the connection, and the next one when it is lost.
pub(crate) struct Driver {
    connector: Connector,
    line: Arc<Line>,
    first: Option<(Reading, Inbox)>,
}

impl Driver {
    /// Without a connection yet.
    pub(super) fn new(connector: Connector, line: Arc<Line>) -> Self {
        Self {
            connector,
            line,
            first: None,
        }
    }

    /// Opens the first connection, with all checks, for which `probe` is used; requests are taken for it from now on.
    pub(crate) async fn open(
        &mut self,
        connect_timeout: Duration,
        probe: &Name,
    ) -> Result<(), SetupError> {
        let Connection {
            reading,
            writing,
            inbox,
        } = self.connector.first(connect_timeout, probe).await?;
        self.line.connect(writing);
        self.first = Some((reading, inbox));
        Ok(())
    }

    /// Runs until the store is closed. While there is no connection, requests are answered at once.
    pub(crate) async fn run(self, events: Arc<dyn Events>) {
        let Self {
            connector,
            line,
            first: mut connection,
        } = self;
        let _abandoned = Abandoned(&line);
        for generation in 1.. {
            let error = match connection.take() {
                Some((reading, inbox)) => {
                    events.connected(Node::ONLY, generation);
                    let link = Link::new(&line, &*events, reading, inbox);
                    let Some(error) = link.serve().await else {
                        return;
                    };
                    if line.is_done() {
                        return;
                    }
                    tracing::warn!(address = %connector.address(), %error, "the lock store is lost; reconnecting");
                    error
                }
                None => StoreError::disconnected("there is no connection yet"),
            };
            events.disconnected(Node::ONLY, error.clone());
            let connecting = reconnect(&connector, &*events);
            let Some(next) = answering(connecting, &line, &*events, &error).await else {
                return;
            };
            // What was submitted before the new connection is never taken for part of it.
            for request in line.connect(next.writing) {
                events.answered(lost(request, error.clone()));
            }
            connection = Some((next.reading, next.inbox));
            tracing::info!(address = %connector.address(), "the lock store is back");
        }
    }
}

/// Tries until it succeeds.
async fn reconnect(connector: &Connector, events: &dyn Events) -> Connection {
    let mut backoff = Backoff::new();
    loop {
        match connector.again().await {
            Ok(connection) => return connection,
            Err(error) => {
                tracing::debug!(%error, "no connection to the lock store yet");
                events.still_disconnected(Node::ONLY, StoreError::disconnected(error.to_string()));
            }
        }
        sleep(backoff.next()).await;
    }
}

/// Waits for a connection; answers every request meanwhile that there is none. `None`: the store was closed.
async fn answering(
    connecting: impl Future<Output = Connection>,
    line: &Line,
    events: &dyn Events,
    error: &StoreError,
) -> Option<Connection> {
    let mut connecting = pin!(connecting);
    poll_fn(|cx| {
        let Some(refused) = line.refused(cx) else {
            return Poll::Ready(None);
        };
        for request in refused {
            events.answered(lost(request, error.clone()));
        }
        connecting.as_mut().poll(cx).map(Some)
    })
    .await
}

/// When the driver ends, and be it with its runtime, requests are refused.
struct Abandoned<'a>(&'a Line);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
