//! [`Pipeline`]: the requests of callers, in a queue from which the background thread sends them.

mod link;

use std::sync::Mutex;

use auto_mutex_net::Connects as _;
use auto_mutex_seam::store::{Answer, Closed, Request, ServerHealth, Store, lock, not_yet};
use auto_mutex_seam::{Guarantees, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::epoch::Epoch;
use crate::session::Connector;

pub(crate) struct Pipeline {
    pub(crate) connector: Connector,
    state: Mutex<State>,
    /// Where the background thread takes the requests.
    coming: Mutex<UnboundedReceiver<Request>>,
}

struct State {
    /// `None` once the store is closed.
    requests: Option<UnboundedSender<Request>>,
    /// Whether this member has sent nothing to the server yet, so that the server knows none of its tickets.
    is_new: bool,
    /// Why there is no connection.
    down: Option<StoreError>,
    epoch: Epoch,
}

impl Pipeline {
    pub(crate) fn new(connector: Connector) -> Self {
        let (requests, coming) = unbounded_channel();
        let state = State {
            requests: Some(requests),
            is_new: true,
            down: Some(not_yet()),
            epoch: Epoch::default(),
        };
        Self {
            connector,
            state: Mutex::new(state),
            coming: Mutex::new(coming),
        }
    }

    /// A new answer to the question for the epoch. An error if the server has lost its locks.
    pub(crate) fn epoch_is(&self, epoch: Epoch) -> Result<Option<Closed>, StoreError> {
        let mut state = lock(&self.state);
        if state.epoch.id != epoch.id {
            let text = "the server has lost its locks";
            return Err(StoreError::disconnected(text));
        }
        state.epoch = epoch;
        Ok(state.epoch.closed)
    }

    pub(crate) fn opens(&self) -> i64 {
        lock(&self.state).epoch.opens()
    }
}

impl Store for Pipeline {
    fn submit(&self, request: Request) -> Option<Answer> {
        let state = lock(&self.state);
        let Some(requests) = &state.requests else {
            let error = StoreError::disconnected("the connection is closed");
            return Some(request.failed(error));
        };
        if state.is_new {
            return Some(request.unsent());
        }
        if let Some(error) = &state.down {
            return Some(request.failed(error.clone()));
        }
        let gone = requests.send(request).err()?;
        Some(gone.0.unsent())
    }

    fn flush(&self) {}

    fn close(&self) {
        lock(&self.state).requests = None;
    }

    fn guarantees(&self) -> Guarantees {
        self.connector.guarantees()
    }

    fn servers(&self) -> Vec<ServerHealth> {
        let address = self.connector.address();
        let state = lock(&self.state);
        let (down, closed) = (state.down.clone(), state.epoch.closed);
        vec![ServerHealth::new(address, down, closed)]
    }
}
