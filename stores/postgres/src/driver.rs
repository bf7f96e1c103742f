//! [`Driver`]: makes the first connection, unless set-up did, and replaces lost ones until `Store::close` is called.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    self, Backoff, Boxed, Events, Node, NodeChange, Request, Store as _, Throttle, Unconnected,
    first, not_yet, tell,
};
use auto_mutex_core::{SetupError, StoreError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};

use crate::link;
use crate::pipeline::Pipeline;
use crate::session::{Connector, Ready, USUAL_SILENCE};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The pause after a connection that lasted for less: if a part of a table is missing, each connection ends with its first request.
const BRIEF: Duration = Duration::from_millis(200);

pub(crate) fn unconnected(connector: Connector) -> Unconnected {
    let (pipeline, coming) = Pipeline::new(connector);
    let pipeline = Arc::new(pipeline);
    let driver = Driver {
        pipeline: pipeline.clone(),
        coming,
        opened: None,
    };
    (pipeline, Box::new(driver))
}

/// Dropping it ends the pipeline, even at runtime shutdown.
struct Driver {
    pipeline: Arc<Pipeline>,
    coming: UnboundedReceiver<Request>,
    opened: Option<Ready>,
}

impl store::Driver for Driver {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(async move {
            let connector = &self.pipeline.connector;
            let ready = connector.first(limit).await?;
            self.pipeline.connect(ready.term.clone());
            self.opened = Some(ready);
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
        self.pipeline.close();
    }
}

impl Driver {
    async fn serve(mut self: Box<Self>, events: Arc<dyn Events>) {
        let mut opened = self.opened.take();
        let pipeline = self.pipeline.clone();
        let connector = &pipeline.connector;
        let mut was_connected = opened.is_some();
        loop {
            let again = opened.is_none();
            let ready = match opened.take() {
                Some(opened) => opened,
                None => {
                    let connecting = reconnect(&pipeline, &*events, was_connected);
                    let Some(opened) = self.unless_closed(&*events, connecting).await else {
                        return;
                    };
                    pipeline.connect(opened.term.clone());
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
            let begun = Instant::now();
            let served = link::serve(&pipeline, &*events, ready, &mut self.coming).await;
            let Some(error) = served else {
                return;
            };
            let (address, why) = (connector.address_text(), error.clone());
            tell(move || {
                tracing::warn!(address, error = %why, "the lock store is lost; reconnecting");
            });
            events.node_changed(Node::ONLY, NodeChange::Disconnected(error));
            if begun.elapsed() < BRIEF && self.unless_closed(&*events, sleep(BRIEF)).await.is_none()
            {
                return;
            }
        }
    }

    /// Returns `None` if `Store::close` was called. Without a connection, no requests come.
    async fn unless_closed<T>(
        &mut self,
        events: &dyn Events,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let closed = async {
            while let Some(request) = self.coming.recv().await {
                events.answered(request.failed(not_yet()));
            }
            None
        };
        first(closed, async { Some(work.await) }).await
    }
}

async fn reconnect(pipeline: &Pipeline, events: &dyn Events, was_connected: bool) -> Ready {
    let connector = &pipeline.connector;
    let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
    let mut causes = Throttle::default();
    loop {
        match connector.attempt(backoff.silence()).await {
            Ok(ready) => return ready,
            Err(error) => {
                backoff.failed(error.trouble());
                let passes = was_connected && !error.needs_a_person();
                if was_connected && crate::error::is_without_database(&error) {
                    events.node_changed(Node::ONLY, NodeChange::Forgotten);
                }
                let error = error.at(&connector.postgres.listed());
                let text = causes.failed(&error, passes);
                let error = StoreError::disconnected(text);
                pipeline.disconnected(error.clone());
                events.node_changed(Node::ONLY, NodeChange::StillDisconnected(error));
            }
        }
        sleep(backoff.pause()).await;
    }
}
