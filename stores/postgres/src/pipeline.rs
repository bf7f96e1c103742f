//! [`Pipeline`]: the requests of callers, in a queue from which the background thread sends them.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::store::reconnect::{Connects as _, Serves};
use auto_mutex_core::store::{
    Answer, Closed, ConnectError, Events, Request, ServerHealth, Store, lock, not_yet,
};
use auto_mutex_core::{Guarantees, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::session::{Connector, Ready};
use crate::term::Term;
use crate::{error, link};

/// The pause after a brief connection: if a part of a table is missing, each one ends with its first request.
const BRIEF: Duration = Duration::from_millis(200);

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
    term: Term,
}

impl Pipeline {
    pub(crate) fn new(connector: Connector) -> Self {
        let (requests, coming) = unbounded_channel();
        let state = State {
            requests: Some(requests),
            is_new: true,
            down: Some(not_yet()),
            term: Term::default(),
        };
        Self {
            connector,
            state: Mutex::new(state),
            coming: Mutex::new(coming),
        }
    }

    /// The next request; `None` once the store is closed.
    pub(crate) fn poll_request(&self, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        lock(&self.coming).poll_recv(cx)
    }

    /// From now on, requests are answered at once. Returns those that nobody has taken.
    pub(crate) fn disconnect(&self, error: &StoreError) -> Vec<Request> {
        lock(&self.state).down = Some(error.clone());
        let mut coming = lock(&self.coming);
        std::iter::from_fn(|| coming.try_recv().ok()).collect()
    }

    /// A new answer to the question for the term. An error if the server has lost its locks.
    pub(crate) fn term_is(&self, term: Term) -> Result<Option<Closed>, StoreError> {
        let mut state = lock(&self.state);
        if state.term.id != term.id {
            let text = "the server has lost its locks";
            return Err(StoreError::disconnected(text));
        }
        state.term = term;
        Ok(state.term.closed)
    }

    pub(crate) fn opens(&self) -> i64 {
        lock(&self.state).term.opens()
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
        let (down, closed) = (state.down.clone(), state.term.closed);
        vec![ServerHealth::new(address, down, closed)]
    }
}

impl Serves for Pipeline {
    type Connector = Connector;

    const BRIEF: Duration = BRIEF;

    fn connector(&self) -> &Connector {
        &self.connector
    }

    fn connected(&self, ready: &Ready) -> (Option<Closed>, VecDeque<Request>) {
        let mut state = lock(&self.state);
        state.is_new = false;
        state.down = None;
        state.term = ready.term.clone();
        (ready.term.closed, VecDeque::new())
    }

    async fn serve(&self, events: &dyn Events, ready: Ready) -> Option<StoreError> {
        link::serve(self, events, ready).await
    }

    fn still_disconnected(&self, error: StoreError) {
        lock(&self.state).down = Some(error);
    }

    fn is_done(&self) -> bool {
        lock(&self.state).requests.is_none()
    }

    fn poll_refused(&self, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        self.poll_request(cx)
    }

    fn forgets(&self, error: &ConnectError) -> bool {
        error::is_without_database(error)
    }
}
