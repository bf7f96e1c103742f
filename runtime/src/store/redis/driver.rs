//! [`Driver`]: keeps a connection for as long as the store is open.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::backoff::Backoff;
use super::connect::Connector;
use super::link::{Link, Service};
use super::store::lost;
use crate::error::StoreError;
use crate::store::{Events, Request};

/// Runs the connection, and the next one when it is lost.
pub(crate) struct Driver {
    connector: Connector,
    /// Boxed: it is big, and the driver is moved about.
    first: Box<Link>,
    requests: UnboundedReceiver<Request>,
}

impl Driver {
    pub(super) fn new(
        connector: Connector,
        first: Link,
        requests: UnboundedReceiver<Request>,
    ) -> Self {
        Self {
            connector,
            first: Box::new(first),
            requests,
        }
    }

    /// Runs until the store is closed. While there is no connection, requests are answered at once.
    pub(crate) async fn run(self, events: Arc<dyn Events>) {
        let Self {
            connector,
            first,
            mut requests,
        } = self;
        let mut link = *first;
        for generation in 1.. {
            events.connected(generation);
            let mut service = Service {
                scripts: &connector.scripts,
                member: connector.member,
                events: &*events,
                requests: &mut requests,
            };
            let Some(error) = link.serve(&mut service).await else {
                return;
            };
            tracing::warn!(address = %connector.address(), %error, "the lock store is lost; reconnecting");
            events.disconnected(error.clone());
            let connecting = reconnect(&connector, &*events);
            match answering(connecting, &mut requests, &*events, &error).await {
                Some(next) => link = next,
                None => return,
            }
            tracing::info!(address = %connector.address(), "the lock store is back");
        }
    }
}

/// Tries until it succeeds.
async fn reconnect(connector: &Connector, events: &dyn Events) -> Link {
    let mut backoff = Backoff::new();
    loop {
        match connector.again().await {
            Ok(link) => return link,
            Err(error) => {
                tracing::debug!(%error, "no connection to the lock store yet");
                events.still_disconnected(StoreError::disconnected(error.to_string()));
            }
        }
        sleep(backoff.next()).await;
    }
}

/// Waits for a connection; answers every request meanwhile that there is none. `None`: the store was closed.
async fn answering(
    connecting: impl Future<Output = Link>,
    requests: &mut UnboundedReceiver<Request>,
    events: &dyn Events,
    error: &StoreError,
) -> Option<Link> {
    let mut connecting = pin!(connecting);
    poll_fn(|cx| {
        // First, so that what was submitted before the new connection is never taken for part of it.
        while let Poll::Ready(request) = requests.poll_recv(cx) {
            match request {
                Some(request) => events.answered(lost(request, error.clone())),
                None => return Poll::Ready(None),
            }
        }
        connecting.as_mut().poll(cx).map(Some)
    })
    .await
}
