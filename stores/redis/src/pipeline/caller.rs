//! The side of a [`Pipeline`] that callers use, from any thread.

use std::sync::atomic::Ordering;
use std::thread;

use auto_mutex_core::store::{Answer, Op, Request, ServerHealth, Store, lock};
use auto_mutex_core::{Guarantees, StoreError};

use super::Pipeline;
use crate::pipeline::pending::Sending;

const FEW: usize = 4;

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
        state.urgent |= !matches!(request.op, Op::Release { .. });
        if state.waiting.is_empty() && self.takes_more(&state) {
            self.begin(&mut state, request);
        } else {
            state.waiting.push_back(request);
        }
        self.touched.store(true, Ordering::Relaxed);
        None
    }

    fn flush(&self) {
        if !self.touched.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        self.touched.store(false, Ordering::Relaxed);
        if !state.waiting.is_empty() || state.out.is_stuck() {
            Self::wake(state);
        } else if state.out.is_taken()
            || state.due && (!state.urgent || state.reader == Some(thread::current().id()))
        {
            // The current writer sends them, or the background thread before it sleeps, together with those of the
            // other tasks it has woken.
        } else if self.under_way.load(Ordering::Relaxed) <= FEW {
            self.write(state);
        } else {
            state.urgent = false;
            Self::wake(state);
        }
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        Self::wake(state);
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

impl Pipeline {
    /// Takes a request that another node has redirected with ASK. Returns the request if there is no room.
    pub(crate) fn ask(&self, request: Request) -> Option<Request> {
        let mut state = lock(&self.state);
        if state.closed || !state.waiting.is_empty() || !self.takes_more(&state) {
            return Some(request);
        }
        let mut sending = Sending::new(request);
        sending.asking = true;
        self.append(&mut state, sending);
        state.urgent = true;
        self.touched.store(true, Ordering::Relaxed);
        None
    }

    /// Requests in flight fail immediately. Whether they have run is unknown.
    pub(crate) fn cut(&self) {
        self.close();
        if let Some(stream) = lock(&self.state).out.stream() {
            stream.close();
        }
    }
}
