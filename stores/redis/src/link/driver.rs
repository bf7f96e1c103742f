//! [`Driver`]: makes the first connection, unless set-up did, and replaces lost ones until `Store::close` is called.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use auto_mutex_core::store::{
    self, Backoff, Boxed, Events, Node, NodeChange, Throttle, first, not_yet, tell,
};
use auto_mutex_core::{SetupError, StoreError};
use tokio::time::sleep;

use crate::connect::{Connector, Ready};
use crate::link;
#[cfg(feature = "replicas")]
use crate::link::replicas;
use crate::login::FIRST_PAUSE;
use crate::pipeline::Pipeline;
use crate::wire::USUAL_SILENCE;

pub(crate) fn unconnected(connector: Connector) -> (Arc<Pipeline>, Box<dyn store::Driver>) {
    let pipeline = Arc::new(Pipeline::new(connector));
    let driver = Driver {
        pipeline: pipeline.clone(),
        ready: None,
    };
    (pipeline, Box::new(driver))
}

/// Dropping it ends the pipeline, even at runtime shutdown.
struct Driver {
    pipeline: Arc<Pipeline>,
    ready: Option<Ready>,
}

impl store::Driver for Driver {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(async move {
            let ready = self.pipeline.connector.first(limit).await?;
            self.pipeline.connect(&ready);
            self.ready = Some(ready);
            Ok(())
        })
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        if self.ready.is_none() {
            events.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
        }
        Box::pin(self.drive(events))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.pipeline.abandon();
    }
}

impl Driver {
    async fn drive(self: Box<Self>, events: Arc<dyn Events>) {
        let pipeline = self.pipeline.clone();
        let serving = async {
            #[cfg(feature = "replicas")]
            if let Some(replicas) = pipeline.connector.guard.options.replicas {
                let serve = |events| self.serve(events);
                replicas::confirmed(pipeline.clone(), replicas, events, serve).await;
                return;
            }
            self.serve(events).await;
        };
        first(serving, pipeline.connector.route.watch()).await;
    }

    async fn serve(mut self: Box<Self>, events: Arc<dyn Events>) {
        let mut opened = self.ready.take();
        let pipeline = &*self.pipeline;
        let connector = &pipeline.connector;
        let mut lost = not_yet();
        let mut was_connected = opened.is_some();
        loop {
            let again = opened.is_none();
            let ready = match opened.take() {
                Some(ready) => ready,
                None => {
                    let connecting = reconnect(pipeline, &*events, was_connected);
                    let answering = answering(connecting, pipeline, &*events, &lost);
                    let Some(ready) = answering.await else {
                        return;
                    };
                    // These requests were submitted before the new connection, and must not be sent on it.
                    for request in pipeline.connect(&ready) {
                        events.answered(request.failed(lost.clone()));
                    }
                    let address = connector.address_text();
                    tell(move || match was_connected {
                        true => tracing::info!(address, "the lock store is back"),
                        false => tracing::info!(address, "the lock store is connected"),
                    });
                    ready
                }
            };
            was_connected = true;
            events.node_changed(Node::ONLY, NodeChange::Closed(ready.term.closed));
            events.node_changed(Node::ONLY, NodeChange::Connected { again });
            let server = ready.server.clone();
            let replaced = connector.route.replaced(&server);
            let Some(error) = link::serve(pipeline, &*events, ready, replaced).await else {
                return;
            };
            if pipeline.is_done() {
                return;
            }
            let (address, why) = (connector.address_text(), error.clone());
            tell(move || {
                tracing::warn!(address, error = %why, "the lock store is lost; reconnecting");
            });
            events.node_changed(Node::ONLY, NodeChange::Disconnected(error.clone()));
            lost = error;
        }
    }
}

async fn reconnect(pipeline: &Pipeline, events: &dyn Events, was_connected: bool) -> Ready {
    let connector = &pipeline.connector;
    let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
    let mut warnings = Throttle::default();
    loop {
        let attempt = async {
            match connector.attempt(backoff.silence()).await {
                Ok(ready) => return Some(ready),
                Err(error) => {
                    backoff.failed(error.trouble());
                    let passes = was_connected && !error.needs_a_person();
                    let error = error.at(&connector.address_text());
                    let text = warnings.failed(&error, passes);
                    let error = StoreError::disconnected(text);
                    pipeline.still_disconnected(error.clone());
                    events.node_changed(Node::ONLY, NodeChange::StillDisconnected(error));
                }
            }
            sleep(backoff.pause()).await;
            None
        };
        let moved = async {
            connector.route.moved().await;
            None
        };
        if let Some(ready) = first(attempt, moved).await {
            return ready;
        }
    }
}

/// Returns `None` if `Store::close` was called.
async fn answering(
    connecting: impl Future<Output = Ready>,
    pipeline: &Pipeline,
    events: &dyn Events,
    error: &StoreError,
) -> Option<Ready> {
    let refusing = poll_fn(|cx| {
        let Some(refused) = pipeline.refused(cx) else {
            return Poll::Ready(None);
        };
        for request in refused {
            events.answered(request.failed(error.clone()));
        }
        Poll::Pending
    });
    first(refusing, async { Some(connecting.await) }).await
}
