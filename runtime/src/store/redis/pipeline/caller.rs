//! The callers' side of a [`Pipeline`]: any thread, many at a time.

use std::sync::atomic::Ordering;

use super::super::sending::Sending;
use super::Pipeline;
use crate::store::{Op, Request};
use crate::wait::lock;

/// With so many replies to come at most, a caller writes itself.
const FEW: usize = 4;

impl Pipeline {
    /// Takes a request, or gives it back if the store is closed. It may not go before the next [`flush`](Self::flush).
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

    /// Takes a request that another node of the cluster sent here, or gives it back if there is no room for it now.
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

    /// Sends what was submitted, or sees to it that somebody does.
    pub(in super::super) fn flush(&self) {
        if !self.touched.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        self.touched.store(false, Ordering::Relaxed);
        if !state.waiting.is_empty() || state.out.is_stuck() {
            Self::wake(state);
        } else if state.out.is_taken() || state.due && (!state.urgent || state.is_reader()) {
            // Whoever writes, or the engine, gets to it. (What the engine itself asks for shares a write with what those
            // submit whom it woke.)
        } else if self.under_way.load(Ordering::Relaxed) <= FEW {
            self.write(state);
        } else {
            state.urgent = false;
            Self::wake(state);
        }
    }

    /// Takes no more requests. The engine ends when those there are are answered.
    pub(in super::super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        Self::wake(state);
    }

    /// Takes no more requests, and hears no more of those that are under way.
    pub(in super::super) fn cut(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        if let Some(socket) = state.out.socket() {
            socket.close();
        }
        Self::wake(state);
    }

    #[cfg(test)]
    pub(in super::super) fn unwritten(&self) -> usize {
        lock(&self.state).out.len()
    }
}
