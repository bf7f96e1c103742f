//! [`Driver`]: keeps a connection for as long as the store is open.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::sleep;

use super::backoff::Backoff;
use super::connect::{Connector, Ready};
use super::line::Line;
use super::link::Link;
use super::reign::Reign;
use super::replicas::{self, Barrier};
use super::store::lost;
use super::wire::{Inbox, Reading};
use crate::error::StoreError;
use crate::store::{Events, Node};

/// Runs the connection, and the next one when it is lost.
pub(crate) struct Driver {
    connector: Arc<Connector>,
    barrier: Option<Barrier>,
    line: Arc<Line>,
    reading: Reading,
    inbox: Inbox,
    reign: Reign,
}

impl Driver {
    /// With the first connection, which requests are taken for from now on.
    pub(super) fn new(
        connector: Arc<Connector>,
        barrier: Option<Barrier>,
        first: Ready,
        line: Arc<Line>,
    ) -> Self {
        let Ready { connection, reign } = first;
        line.connect(connection.writing, reign);
        Self {
            connector,
            barrier,
            line,
            reading: connection.reading,
            inbox: connection.inbox,
            reign,
        }
    }

    /// Runs until the store is closed. While there is no connection, requests are answered at once.
    pub(crate) async fn run(mut self, events: Arc<dyn Events>) {
        match self.barrier.take() {
            Some(barrier) => {
                replicas::confirmed(barrier, events, |events| self.serve(events)).await
            }
            None => self.serve(events).await,
        }
    }

    async fn serve(self, events: Arc<dyn Events>) {
        let Self {
            connector,
            line,
            mut reading,
            mut inbox,
            mut reign,
            ..
        } = self;
        let _abandoned = Abandoned(&line);
        for generation in 1.. {
            events.closed(Node::ONLY, reign.opening.map(|opening| opening.closing));
            events.connected(Node::ONLY, generation);
            let link = Link::new(&line, &*events, reading, inbox);
            let Some(error) = link.serve().await else {
                return;
            };
            if line.is_done() {
                return;
            }
            tracing::warn!(address = %connector.address(), %error, "the lock store is lost; reconnecting");
            events.disconnected(Node::ONLY, error.clone());
            let connecting = reconnect(&connector, &*events);
            let Some(next) = answering(connecting, &line, &*events, &error).await else {
                return;
            };
            // What was submitted before the new connection is never taken for part of it.
            let connection = next.connection;
            for request in line.connect(connection.writing, next.reign) {
                events.answered(lost(request, error.clone()));
            }
            (reading, inbox, reign) = (connection.reading, connection.inbox, next.reign);
            tracing::info!(address = %connector.address(), "the lock store is back");
        }
    }
}

/// Tries until it succeeds.
async fn reconnect(connector: &Connector, events: &dyn Events) -> Ready {
    let mut backoff = Backoff::new();
    loop {
        match connector.again().await {
            Ok(ready) => return ready,
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
    connecting: impl Future<Output = Ready>,
    line: &Line,
    events: &dyn Events,
    error: &StoreError,
) -> Option<Ready> {
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
