//! [`RedisStore`]: takes requests from any thread.

use std::fmt;
use std::sync::Arc;

use super::connect::Connector;
use super::pipeline::Pipeline;
use crate::config::Replicas;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::store::{Answer, LinkState, Node, Request, ServerState, Store};

/// A member's access to a Redis server.
pub(crate) struct RedisStore {
    pipeline: Arc<Pipeline>,
    connector: Arc<Connector>,
    replicas: Option<Replicas>,
}

impl RedisStore {
    pub(super) fn new(
        pipeline: Arc<Pipeline>,
        connector: Arc<Connector>,
        replicas: Option<Replicas>,
    ) -> Self {
        Self {
            pipeline,
            connector,
            replicas,
        }
    }

    /// How many bytes wait to be written.
    #[cfg(repository)]
    #[cfg(test)]
    pub(super) fn unwritten(&self) -> usize {
        self.pipeline.unwritten()
    }
}

/// Methods for a node of a cluster.
impl RedisStore {
    /// Does the same as [`submit`](Store::submit), for a request that another node redirected here. If there is no
    /// room, returns the request unexecuted.
    pub(crate) fn ask(&self, request: Request) -> Option<Request> {
        self.pipeline.ask(request)
    }

    /// Accepts no more requests. Requests in flight fail at once: they may or may not have run.
    pub(crate) fn cut(&self) {
        self.pipeline.cut();
    }
}

impl Store for RedisStore {
    fn guarantees(&self) -> Guarantees {
        let replicas = self.replicas.map_or(0, |replicas| replicas.count);
        self.connector.guarantees(replicas)
    }

    fn servers(&self, link: &dyn Fn(Node) -> LinkState) -> Vec<ServerState> {
        vec![link(Node::ONLY).of(self.connector.place())]
    }

    fn submit(&self, request: Request) -> Option<Answer> {
        let refused = self.pipeline.submit(request)?;
        let error = StoreError::disconnected("the connection is closed");
        Some(lost(refused, error))
    }

    fn flush(&self) {
        self.pipeline.flush();
    }

    fn close(&self) {
        self.pipeline.close();
    }
}

/// Makes the answer to a request that was not sent, or may not have run.
pub(super) fn lost(request: Request, error: StoreError) -> Answer {
    Answer {
        request,
        result: Err(error),
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("server", &self.connector.place())
            .finish_non_exhaustive()
    }
}
