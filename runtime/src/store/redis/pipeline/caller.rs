//! The callers' side of a [`Pipeline`], for any number of threads.

use std::sync::atomic::Ordering;

use super::super::sending::Sending;
use super::Pipeline;
use crate::store::{Op, Request};
use crate::wait::lock;

/// Up to this many outstanding replies, a caller writes on its own thread.
const FEW: usize = 4;

impl Pipeline {
    /// Takes a request, or returns it if the store is closed. The request may stay unsent until the next
    /// [`flush`](Self::flush).
    pub(in super::super) fn submit(&self, request: Request) -> Option<Request> {
        let mut state = lock(&self.state);
        if state.closed {
            return Some(request);
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

    /// Takes a request that another node of the cluster redirected here, or returns it if there is no room.
    pub(in super::super) fn ask(&self, request: Request) -> Option<Request> {
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

    /// Sends the submitted requests, or makes sure that another thread does.
    pub(in super::super) fn flush(&self) {
        if !self.touched.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        self.touched.store(false, Ordering::Relaxed);
        if !state.waiting.is_empty() || state.out.is_stuck() {
            Self::wake(state);
        } else if state.out.is_taken() || state.due && (!state.urgent || state.is_reader()) {
            // The current writer or the engine will send the requests. The engine's own requests share a write with the
            // requests of the tasks that it has woken.
        } else if self.under_way.load(Ordering::Relaxed) <= FEW {
            self.write(state);
        } else {
            state.urgent = false;
            Self::wake(state);
        }
    }

    /// Accepts no more requests. The engine ends when all accepted requests are answered.
    pub(in super::super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        Self::wake(state);
    }

    /// Accepts no more requests, and drops the replies to requests in flight.
    pub(in super::super) fn cut(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        if let Some(socket) = state.out.socket() {
            socket.close();
        }
        Self::wake(state);
    }

    #[cfg(repository)]
    #[cfg(test)]
    pub(in super::super) fn unwritten(&self) -> usize {
        lock(&self.state).out.len()
    }
}
