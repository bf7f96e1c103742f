//! [`Pipeline`]: the requests of callers, in a queue from which the background thread sends them.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Waker};

use auto_mutex_core::store::{Answer, Closed, Request, ServerHealth, Store, lock, not_yet};
use auto_mutex_core::{Guarantees, StoreError};

use crate::session::Connector;
use crate::term::Term;

/// The capacity that an empty queue keeps.
const KEPT: usize = 1024;

pub(crate) struct Pipeline {
    pub(crate) connector: Connector,
    state: Mutex<State>,
}

struct State {
    queue: VecDeque<Request>,
    /// Whether the background thread looks at the queue before it sleeps.
    due: bool,
    background: Option<Waker>,
    /// Whether this member has sent nothing to the server yet, so that the server knows none of its tickets.
    is_new: bool,
    closed: bool,
    /// Why there is no connection.
    down: Option<StoreError>,
    term: Term,
}

impl Pipeline {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            connector,
            state: Mutex::new(State {
                queue: VecDeque::new(),
                due: true,
                background: None,
                is_new: true,
                closed: false,
                down: Some(not_yet()),
                term: Term::default(),
            }),
        }
    }

    pub(crate) fn connect(&self, term: Term) {
        let mut state = lock(&self.state);
        state.is_new = false;
        state.due = true;
        state.down = None;
        state.term = term;
    }

    /// From now on, requests are answered at once. Returns those that nobody has sent.
    pub(crate) fn disconnect(&self, error: &StoreError) -> VecDeque<Request> {
        let mut state = lock(&self.state);
        state.down = Some(error.clone());
        std::mem::take(&mut state.queue)
    }

    pub(crate) fn still_disconnected(&self, error: StoreError) {
        lock(&self.state).down = Some(error);
    }

    pub(crate) fn abandon(&self) {
        lock(&self.state).closed = true;
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

    /// Moves up to `most` requests to `to`. If there are none, `cx` is woken for the next. Returns whether the store was
    /// closed.
    pub(crate) fn take(&self, cx: &Context<'_>, most: usize, to: &mut VecDeque<Request>) -> bool {
        let mut state = lock(&self.state);
        let count = state.queue.len().min(most);
        to.extend(state.queue.drain(..count));
        if state.queue.is_empty() && state.queue.capacity() > KEPT {
            state.queue = VecDeque::new();
        }
        state.due = count > 0;
        if count == 0 {
            match &mut state.background {
                Some(background) => background.clone_from(cx.waker()),
                None => state.background = Some(cx.waker().clone()),
            }
        }
        state.closed && state.queue.is_empty()
    }

    fn wake(&self) {
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.due, true)
            && let Some(background) = state.background.clone()
        {
            drop(state);
            background.wake();
        }
    }
}

impl Store for Pipeline {
    fn submit(&self, request: Request) -> Option<Answer> {
        let mut state = lock(&self.state);
        if state.closed {
            let error = StoreError::disconnected("the connection is closed");
            return Some(request.failed(error));
        }
        if state.is_new {
            return Some(request.unsent());
        }
        if let Some(down) = &state.down {
            let error = down.clone();
            drop(state);
            return Some(request.failed(error));
        }
        // A call of `flush` follows, so no request waits for the next beat.
        state.queue.push_back(request);
        None
    }

    fn flush(&self) {
        let waits = {
            let state = lock(&self.state);
            !state.queue.is_empty() && !state.due
        };
        if waits {
            self.wake();
        }
    }

    fn close(&self) {
        lock(&self.state).closed = true;
        self.wake();
    }

    fn guarantees(&self) -> Guarantees {
        self.connector.guarantees()
    }

    fn servers(&self) -> Vec<ServerHealth> {
        let address = self.connector.address_text();
        let state = lock(&self.state);
        let (down, closed) = (state.down.clone(), state.term.closed);
        vec![ServerHealth::new(address, down, closed)]
    }
}
