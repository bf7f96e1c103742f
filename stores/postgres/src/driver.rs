//! [`Driver`]: makes the first connection, unless set-up did, and replaces lost ones until `Store::close` is called.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use auto_mutex_core::store::{
    self, Backoff, Boxed, ConnectError, Events, Node, NodeChange, Throttle, Unconnected, first,
    not_yet, tell,
};
use auto_mutex_core::{SetupError, StoreError};
use tokio::time::sleep;

use crate::link;
use crate::pipeline::Pipeline;
use crate::session::{Connector, Queries, Ready, USUAL_SILENCE};

const FIRST_PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn unconnected(connector: Connector) -> Unconnected {
    let pipeline = Arc::new(Pipeline::new(connector));
    let driver = Driver {
        pipeline: pipeline.clone(),
        opened: None,
    };
    (pipeline, Box::new(driver))
}

/// Dropping it ends the pipeline, even at runtime shutdown.
struct Driver {
    pipeline: Arc<Pipeline>,
    opened: Option<(Ready, Queries)>,
}

impl store::Driver for Driver {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(async move {
            let connector = &self.pipeline.connector;
            let ready = connector.first(limit).await?;
            let prepared = prepared(connector, ready).await;
            let opened = prepared.map_err(|error| error.at(&connector.address_text()))?;
            self.pipeline.connect(opened.0.term.clone());
            self.opened = Some(opened);
            Ok(())
        })
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        if self.opened.is_none() {
            events.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
        }
        Box::pin(self.serve(events))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.pipeline.abandon();
    }
}

impl Driver {
    async fn serve(mut self: Box<Self>, events: Arc<dyn Events>) {
        let mut opened = self.opened.take();
        let pipeline = &*self.pipeline;
        let connector = &pipeline.connector;
        let mut was_connected = opened.is_some();
        loop {
            let again = opened.is_none();
            let (ready, queries) = match opened.take() {
                Some(opened) => opened,
                None => {
                    let connecting = reconnect(pipeline, &*events, was_connected);
                    let Some(opened) = unless_closed(pipeline, connecting).await else {
                        return;
                    };
                    pipeline.connect(opened.0.term.clone());
                    let address = connector.address_text();
                    tell(move || match was_connected {
                        true => tracing::info!(address, "the lock store is back"),
                        false => tracing::info!(address, "the lock store is connected"),
                    });
                    opened
                }
            };
            was_connected = true;
            events.node_changed(Node::ONLY, NodeChange::Closed(ready.term.closed));
            events.node_changed(Node::ONLY, NodeChange::Connected { again });
            let served = link::serve(pipeline, &*events, ready, queries).await;
            let Some(error) = served else {
                return;
            };
            let (address, why) = (connector.address_text(), error.clone());
            tell(move || {
                tracing::warn!(address, error = %why, "the lock store is lost; reconnecting");
            });
            events.node_changed(Node::ONLY, NodeChange::Disconnected(error));
        }
    }
}

async fn prepared(
    connector: &Connector,
    mut ready: Ready,
) -> Result<(Ready, Queries), ConnectError> {
    let term = ready.term.clone();
    let term = connector.is_pooled().then_some(&term);
    let queries = Queries::of(&mut ready.requests, term).await?;
    Ok((ready, queries))
}

async fn reconnect(
    pipeline: &Pipeline,
    events: &dyn Events,
    was_connected: bool,
) -> (Ready, Queries) {
    let connector = &pipeline.connector;
    let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
    let mut causes = Throttle::default();
    loop {
        let attempt = async {
            let ready = connector.attempt(backoff.silence()).await?;
            prepared(connector, ready).await
        };
        match attempt.await {
            Ok(opened) => return opened,
            Err(error) => {
                backoff.failed(error.trouble());
                let passes = was_connected && !error.needs_a_person();
                let error = error.at(&connector.postgres.listed());
                let text = causes.failed(&error, passes);
                let error = StoreError::disconnected(text);
                pipeline.still_disconnected(error.clone());
                events.node_changed(Node::ONLY, NodeChange::StillDisconnected(error));
            }
        }
        sleep(backoff.pause()).await;
    }
}

/// Returns `None` if `Store::close` was called.
async fn unless_closed<T>(pipeline: &Pipeline, connecting: impl Future<Output = T>) -> Option<T> {
    let closed = poll_fn(|cx| match pipeline.take(cx, 0, &mut VecDeque::new()) {
        true => Poll::Ready(None),
        false => Poll::Pending,
    });
    first(closed, async { Some(connecting.await) }).await
}
