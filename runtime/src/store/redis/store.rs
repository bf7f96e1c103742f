//! [`RedisStore`]: hands requests from any thread to the driver.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::StoreError;
use crate::store::{Answer, Request, Store};

/// A member's access to a Redis server.
#[derive(Debug)]
pub(crate) struct RedisStore {
    /// Gone once the store is closed. Under the lock, so that requests keep their order.
    requests: Mutex<Option<UnboundedSender<Request>>>,
}

impl RedisStore {
    pub(super) fn new() -> (Arc<Self>, UnboundedReceiver<Request>) {
        let (sender, receiver) = unbounded_channel();
        let store = Self {
            requests: Mutex::new(Some(sender)),
        };
        (Arc::new(store), receiver)
    }

    /// Takes no more requests. The driver ends when those it has are answered.
    pub(crate) fn close(&self) {
        let sender = self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(sender);
    }
}

impl Store for RedisStore {
    fn submit(&self, request: Request) -> Option<Answer> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match &*requests {
            // Refused when the driver is gone, with its runtime.
            Some(sender) => sender.send(request).err()?.0,
            None => request,
        };
        Some(lost(
            refused,
            StoreError::disconnected("the connection is closed"),
        ))
    }
}

/// The answer to a request that was not sent.
pub(super) fn lost(request: Request, error: StoreError) -> Answer {
    Answer {
        request,
        result: Err(error),
    }
}
