//! The side of a [`Pipeline`] that the background thread uses.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Closed, Granted, Name, Request, clock, lock};

use super::{KEPT, Pipeline, State};
use crate::connect::Ready;
use crate::connect::facts::{self, Facts};
use crate::connect::term::{self, Term};
use crate::error::{self, Code};
use crate::login::hello;
use crate::pipeline::pending::{Awaited, Sending};
use crate::wire::Value;

impl Pipeline {
    pub(crate) fn connect(&self, ready: &Ready) -> VecDeque<Request> {
        let mut state = lock(&self.state);
        state.out.open(Some(ready.connection.stream.clone()));
        state.due = true;
        state.failed = None;
        state.down = None;
        state.is_new = false;
        state.term = ready.term;
        if self.connector.scripts.are_of_cluster() {
            for channel in state.shard_channels.reconnect() {
                self.subscribe(&mut state, channel);
            }
        }
        std::mem::take(&mut state.waiting)
    }

    pub(crate) fn disconnect(&self, awaited: &mut VecDeque<Awaited>, error: &StoreError) {
        let mut state = lock(&self.state);
        state.down = Some(error.clone());
        // Another thread may be writing now, and must not continue on this connection.
        if let Some(stream) = state.out.stream() {
            stream.close();
        }
        state.out.open(None);
        state.due = true;
        state.held = false;
        awaited.append(&mut state.awaited);
        (state.open, state.names) = (0, 0);
        self.under_way.store(0, Ordering::Relaxed);
    }

    pub(crate) fn still_disconnected(&self, error: StoreError) {
        lock(&self.state).down = Some(error);
    }

    /// Returns `None` when no more requests are accepted and none is left.
    pub(crate) fn refused(&self, cx: &Context<'_>) -> Option<VecDeque<Request>> {
        let mut state = lock(&self.state);
        if state.closed && state.waiting.is_empty() {
            return None;
        }
        state.sleep(cx);
        Some(std::mem::take(&mut state.waiting))
    }

    pub(crate) fn abandon(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.out.open(None);
    }

    /// Records that the background thread has read something, and will call [`poll_write`](Self::poll_write) before it
    /// sleeps.
    pub(crate) fn awake(&self) {
        let mut state = lock(&self.state);
        state.due = true;
        state.reader.get_or_insert_with(|| thread::current().id());
    }

    pub(crate) fn opens(&self) -> u64 {
        lock(&self.state).term.opens()
    }

    pub(crate) fn refill(&self, awaited: &mut VecDeque<Awaited>) {
        if awaited.is_empty() {
            if awaited.capacity() > KEPT {
                *awaited = VecDeque::new();
            }
            let mut state = lock(&self.state);
            self.seal(&mut state);
            std::mem::swap(awaited, &mut state.awaited);
        }
    }

    pub(crate) fn replied(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.closed && state.waiting.is_empty()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn has_written(&self) -> bool {
        std::mem::take(&mut lock(&self.state).wrote)
    }

    pub(crate) fn hold(&self) {
        lock(&self.state).held = true;
    }

    /// Requires that no reply is outstanding.
    pub(crate) fn write_again(&self, sendings: &mut Vec<Sending>) {
        let mut state = lock(&self.state);
        self.load_scripts(&mut state);
        for sending in sendings.drain(..) {
            self.append(&mut state, sending);
        }
        state.held = false;
    }

    fn load_scripts(&self, state: &mut State) {
        for text in self.connector.scripts.texts() {
            self.encode(state, Awaited::Unimportant, |cmd| {
                cmd.arg("SCRIPT").arg("LOAD").arg(text)
            });
        }
    }

    /// Asks for the term, because the server may have been a replica since the last query. Forgets names without recent
    /// requests.
    pub(crate) fn ask_term(&self) {
        let mut state = lock(&self.state);
        self.ask_term_by(&mut state, 0);
        state.shard_channels.sweep();
    }

    /// Asks again for the server's settings and replicas, which may have changed.
    pub(crate) fn ask_facts(&self) {
        let mut state = lock(&self.state);
        self.seal(&mut state);
        for cmd in Facts::question().cmd_iter() {
            cmd.write_packed_command(state.out.filling());
            self.expect(&mut state, Awaited::Fact);
        }
    }

    pub(crate) fn facts_are(&self, said: &mut Vec<facts::Answer>) {
        let lag = lock(&self.state).term.lag;
        if let Some(facts) = Facts::of(said, lag).filter(Facts::are_definite) {
            self.connector.note_facts(facts);
        }
    }

    fn ask_term_by(&self, state: &mut State, key: usize) -> bool {
        let lag = state.term.lag;
        let (scripts, guard) = (&self.connector.scripts, &self.connector.guard);
        self.seal(state);
        let asked = term::ask(state.out.filling(), scripts, guard, key, lag);
        if asked {
            lock(&guard.keys).asked_again();
            self.expect(state, Awaited::Term(key));
        }
        asked
    }

    /// Returns until when and why the server grants nothing, if so. An error ends the connection, because the server's
    /// state is unknown.
    pub(crate) fn term_is(
        &self,
        key: usize,
        reply: &Value<'_>,
    ) -> Result<Option<Closed>, StoreError> {
        let mut state = lock(&self.state);
        if let Value::Error(error) = reply {
            return match Code::of(error) {
                Code::NoScript => {
                    self.load_scripts(&mut state);
                    Ok(None)
                }
                Code::Busy => Ok(None),
                code if code.is_elsewhere() && self.ask_term_by(&mut state, key + 1) => Ok(None),
                // The key's slot is merely migrating.
                Code::Ask | Code::TryAgain => Ok(None),
                _ => {
                    // Without the server's code, which would mean that requests in flight did not run.
                    let error = error::of_server(error);
                    let text =
                        format!("the server does not report when it starts to grant: {error}");
                    Err(StoreError::disconnected(text))
                }
            };
        }
        let term = Term::read(reply, &self.connector.guard, state.term.lag, clock::now());
        let closed = term.filter(|term| term.closed.is_some());
        state.term = closed.unwrap_or(state.term);
        Ok(closed.and_then(|term| term.closed))
    }

    pub(crate) fn queued(&self, name: &Name) {
        if !self.connector.scripts.are_of_cluster() {
            return;
        }
        let mut state = lock(&self.state);
        if let Some(channel) = state.shard_channels.queued(name, self.connector.member) {
            self.subscribe(&mut state, channel);
        }
    }

    fn subscribe(&self, state: &mut State, channel: String) {
        let asked = channel.clone();
        self.encode(state, Awaited::ShardChannel(channel), |cmd| {
            cmd.arg("SSUBSCRIBE").arg(asked)
        });
    }

    pub(crate) fn lost_shard_channel(&self, channel: &str, error: Option<Code>) {
        let mut state = lock(&self.state);
        let channels = &mut state.shard_channels;
        match error {
            Some(code)
                if !code.is_elsewhere() && !matches!(code, Code::ClusterDown | Code::Busy) =>
            {
                channels.give_up();
            }
            _ => channels.lost(channel),
        }
    }

    pub(crate) fn authenticate(&self, who: &Granted) {
        let mut state = lock(&self.state);
        self.encode(&mut state, Awaited::Auth, |cmd| hello::log_in(cmd, who));
    }

    pub(crate) fn ping(&self) {
        let mut state = lock(&self.state);
        self.encode(&mut state, Awaited::Unimportant, |cmd| cmd.arg("PING"));
    }

    /// Ready without an error once the store is closed and all requests are answered.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let failed = |cause| Poll::Ready(Err(error::of_socket(&cause)));
        loop {
            let mut state = lock(&self.state);
            if let Some(cause) = state.failed.take() {
                return failed(cause);
            }
            while self.takes_more(&state)
                && let Some(request) = state.waiting.pop_front()
            {
                self.begin(&mut state, request);
            }
            if state.waiting.is_empty() && state.waiting.capacity() > KEPT {
                state.waiting = VecDeque::new();
            }
            // The current writer wakes the background thread if anything is left.
            let idle = state.out.is_taken() || !state.is_unwritten();
            if idle {
                let done = state.closed && state.waiting.is_empty() && !state.held;
                if done && self.is_quiet() {
                    return Poll::Ready(Ok(()));
                }
                state.sleep(cx);
                return Poll::Pending;
            }
            let stuck = state.out.stream().filter(|_| state.out.is_stuck());
            match stuck.map(|stream| stream.poll_ready(cx)) {
                None | Some(Poll::Ready(Ok(()))) => self.write(state),
                Some(Poll::Ready(Err(cause))) => return failed(cause),
                Some(Poll::Pending) => {
                    state.sleep(cx);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl State {
    fn sleep(&mut self, cx: &Context<'_>) {
        self.due = false;
        match &mut self.background {
            Some(background) => background.clone_from(cx.waker()),
            None => self.background = Some(cx.waker().clone()),
        }
    }
}
