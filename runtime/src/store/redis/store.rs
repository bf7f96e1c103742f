//! [`RedisStore`]: takes requests from any thread.

use std::sync::{Arc, OnceLock};

use super::line::Line;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::store::{Answer, Request, Store};

/// A member's access to a Redis server.
#[derive(Debug)]
pub(crate) struct RedisStore {
    line: Arc<Line>,
    guarantees: OnceLock<Guarantees>,
}

impl RedisStore {
    pub(super) fn new(line: Arc<Line>) -> Self {
        Self {
            line,
            guarantees: OnceLock::new(),
        }
    }

    /// What the server was found to give.
    pub(crate) fn gives(&self, guarantees: Guarantees) {
        self.guarantees.get_or_init(|| guarantees);
    }

    /// How many bytes wait to be written.
    #[cfg(test)]
    pub(super) fn unwritten(&self) -> usize {
        self.line.unwritten()
    }
}

/// As a node of a cluster.
impl RedisStore {
    /// Takes a request that another node sent here, as [`submit`](Store::submit); or gives it back, not executed.
    pub(crate) fn ask(&self, request: Request) -> Option<Request> {
        self.line.ask(request)
    }

    /// Takes no more requests; those under way are answered at once: they may or may not have run.
    pub(crate) fn cut(&self) {
        self.line.cut();
    }
}

impl Store for RedisStore {
    fn guarantees(&self) -> Guarantees {
        let found = self.guarantees.get();
        found.cloned().unwrap_or_else(Guarantees::unknown)
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
