//! [`Driver`]: keeps a connection open until `Store::close` is called.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::connect::backoff::Backoff;
use super::connect::error::ConnectError;
use super::connect::{Connector, PROVIDER_FAILS, Ready};
use super::link::Link;
use super::pipeline::Pipeline;
use super::replicas::{self, Barrier};
use crate::clock;
use crate::error::{SetupError, StoreError};
use crate::name::Name;
use crate::store::{Events, Node};
use crate::wait::{self, Limit, first};

/// Runs the connection, and replaces it when it is lost.
pub(crate) struct Driver {
    pipeline: Arc<Pipeline>,
    /// Set if grants count only once replicas have them.
    barrier: Option<Barrier>,
    /// The connection that [`open`](Self::open) has made.
    first: Option<Ready>,
}

impl Driver {
    /// Makes a driver without a connection.
    pub(super) fn new(pipeline: Arc<Pipeline>) -> Self {
        let replicas = pipeline.connector.replicas;
        let barrier = replicas.map(|replicas| Barrier::new(pipeline.clone(), replicas));
        Self {
            pipeline,
            barrier,
            first: None,
        }
    }

    /// Opens the first connection with all checks, within `left`. The checks run operations on the reserved name `probe`.
    /// Afterwards, the connection accepts requests.
    pub(crate) async fn open(&mut self, left: Duration, probe: &Name) -> Result<(), SetupError> {
        let ends = Instant::now() + left;
        let connector = &self.pipeline.connector;
        let ready = connector.first(left, probe).await?;
        if let Some(barrier) = &mut self.barrier {
            let left = ends.saturating_duration_since(Instant::now());
            connector.within(left, barrier.connect()).await?;
        }
        self.pipeline.connect(&ready);
        self.first = Some(ready);
        Ok(())
    }

    /// Runs until `Store::close` is called and all requests are answered. Without a connection, requests fail at once.
    pub(crate) async fn run(mut self, events: Arc<dyn Events>) {
        let pipeline = self.pipeline.clone();
        let barrier = self.barrier.take();
        let serving = async {
            match barrier {
                Some(barrier) => {
                    replicas::confirmed(barrier, events, |events| self.serve(events)).await;
                }
                None => self.serve(events).await,
            }
        };
        // `watch` never completes.
        first(serving, pipeline.connector.route.watch()).await;
    }

    async fn serve(self, events: Arc<dyn Events>) {
        let Self {
            pipeline,
            first: mut serving,
            ..
        } = self;
        let connector = &pipeline.connector;
        let _abandoned = Abandoned(&pipeline);
        let mut again = false;
        loop {
            let error = match serving.take() {
                Some(ready) => {
                    events.closed(Node::ONLY, ready.term.closing);
                    events.connected(Node::ONLY, again);
                    let server = ready.server.clone();
                    let link = Link::new(&pipeline, &*events, ready);
                    let Some(error) = link.serve(connector.route.replaced(&server)).await else {
                        return;
                    };
                    if pipeline.is_done() {
                        return;
                    }
                    let (address, why) = (connector.place(), error.clone());
                    wait::tell(move || {
                        tracing::warn!(address, error = %why, "the lock store is lost; reconnecting");
                    });
                    error
                }
                None => StoreError::disconnected("there is no connection yet"),
            };
            events.disconnected(Node::ONLY, error.clone());
            let connecting = reconnect(connector, &*events);
            let Some(ready) = answering(connecting, &pipeline, &*events, &error).await else {
                return;
            };
            // These requests were submitted before the new connection, and must not run on it.
            for request in pipeline.connect(&ready) {
                events.answered(request.failed(error.clone()));
            }
            serving = Some(ready);
            again = true;
            let address = connector.place();
            wait::tell(move || tracing::info!(address, "the lock store is back"));
        }
    }
}

/// Retries until a connection is made.
async fn reconnect(connector: &Connector, events: &dyn Events) -> Ready {
    let mut backoff = Backoff::new();
    let warnings = Limit::every(PROVIDER_FAILS);
    loop {
        let attempt = async {
            match connector.again(backoff.silence()).await {
                Ok(ready) => return Some(ready),
                Err(error) => {
                    backoff.failed(&error);
                    let error = failure(error, &connector.place(), &warnings);
                    events.still_disconnected(Node::ONLY, error);
                }
            }
            sleep(backoff.next()).await;
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

/// Logs the failure of an attempt to connect to `place`, and returns its error. The log entry is a warning if the
/// credentials provider has failed and `warnings` allows it.
fn failure(error: ConnectError, place: &str, warnings: &Limit) -> StoreError {
    let provider = error.of_provider().cloned();
    let mut text = error.at(place).to_string();
    if let Some(source) = &provider {
        text.push_str(&format!(": {source}"));
    }
    let error = StoreError::disconnected(text);
    let why = error.clone();
    match provider.is_some() && warnings.pass(clock::Instant::now()).is_some() {
        true => wait::tell(move || {
            tracing::warn!(error = %why, "no connection to the lock store, trying again");
        }),
        false => wait::tell(move || {
            tracing::debug!(error = %why, "no connection to the lock store yet");
        }),
    }
    error
}

/// Waits for a connection, and fails every request until there is one. `None`: `Store::close` was called.
async fn answering(
    connecting: impl Future<Output = Ready>,
    pipeline: &Pipeline,
    events: &dyn Events,
    error: &StoreError,
) -> Option<Ready> {
    let mut connecting = pin!(connecting);
    poll_fn(|cx| {
        let Some(refused) = pipeline.refused(cx) else {
            return Poll::Ready(None);
        };
        for request in refused {
            events.answered(request.failed(error.clone()));
        }
        connecting.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Refuses all requests when the driver ends or is dropped with its runtime.
struct Abandoned<'a>(&'a Pipeline);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
