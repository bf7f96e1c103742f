//! [`QuorumStore`]: takes requests from any thread.

use std::sync::Arc;

use super::inbox::Inbox;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::store::{Answer, Request, Store};

/// A member's access to several independent servers.
#[derive(Debug)]
pub(crate) struct QuorumStore {
    inbox: Arc<Inbox>,
    guarantees: Guarantees,
}

impl QuorumStore {
    pub(super) fn new(inbox: Arc<Inbox>, guarantees: Guarantees) -> Self {
        Self { inbox, guarantees }
    }
}

impl Store for QuorumStore {
    fn guarantees(&self) -> Guarantees {
        self.guarantees.clone()
    }

    fn submit(&self, request: Request) -> Option<Answer> {
        let request = self.inbox.submit(request)?;
        let error = StoreError::disconnected("the connections are closed");
        Some(Answer {
            request,
            result: Err(error),
        })
    }

    fn flush(&self) {
        self.inbox.flush();
    }

    fn close(&self) {
        self.inbox.close();
    }
}
