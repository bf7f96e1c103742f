//! [`RedisStore`]: takes requests from any thread.

use std::sync::Arc;

use super::line::Line;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::store::{Answer, Request, Store};

/// A member's access to a Redis server.
#[derive(Debug)]
pub(crate) struct RedisStore {
    line: Arc<Line>,
    guarantees: Guarantees,
}

impl RedisStore {
    pub(super) fn new(line: Arc<Line>, guarantees: Guarantees) -> Self {
        Self { line, guarantees }
    }

    /// How many bytes wait to be written.
    #[cfg(test)]
    pub(super) fn unwritten(&self) -> usize {
        self.line.unwritten()
    }
}

impl Store for RedisStore {
    fn guarantees(&self) -> Guarantees {
        self.guarantees.clone()
    }

    fn submit(&self, request: Request) -> Option<Answer> {
        let refused = self.line.submit(request)?;
        let error = StoreError::disconnected("the connection is closed");
        Some(lost(refused, error))
    }

    fn flush(&self) {
        self.line.flush();
    }

    fn close(&self) {
        self.line.close();
    }
}

/// The answer to a request that was not sent.
pub(super) fn lost(request: Request, error: StoreError) -> Answer {
    Answer {
        request,
        result: Err(error),
    }
}
