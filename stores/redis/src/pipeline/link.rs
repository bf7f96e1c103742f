//! The side of a [`Pipeline`] that the background thread uses. [`Link`] is a connection, which it serves until it is
//! lost. Each reply belongs to the oldest unanswered request.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use auto_mutex_net::{BEAT, Courtesy, Serves, Serving, Watchdog};
use auto_mutex_seam::store::{
    Boxed, Closed, Events, Request, StoreErrorKind, clock, deliver, first, lock,
};
use auto_mutex_seam::{StoreError, store};
use tokio::time::{Instant, Sleep, sleep};

#[cfg(feature = "replicas")]
use super::replicas;
use super::replies::{Awaited, Sending};
use super::{KEPT, Pipeline, State};
use crate::connect::epoch::{self, Epoch};
use crate::connect::facts::{self, Facts};
use crate::connect::{Connector, Ready};
use crate::error::{self, Code};
use crate::login::hello;
use crate::login::renewal::Renewal;
use crate::script::reply;
use crate::wire::{Connection, Inbox, Value};

/// How often the server is asked for its epoch. Suspended time counts, because the server may fail over meanwhile.
const ASKS_EVERY: Duration = Duration::from_secs(10);
/// The settings are read with the first epoch, when the replicas of a new primary are back, and every ten minutes.
const ASKS_PER_FACTS: u32 = 60;

pub(super) struct Link<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) events: &'a dyn Events,
    pub(super) renewal: Renewal,
    pub(super) awaited: VecDeque<Awaited>,
    /// Requests that must be sent again.
    pub(super) again: Vec<Sending>,
    courtesy: Courtesy,
    watchdog: Watchdog,
    next_ask: store::Instant,
    asks: u32,
    pub(super) facts: Vec<facts::Answer>,
    beat: Pin<Box<Sleep>>,
}

impl Serves for Pipeline {
    type Connector = Connector;

    fn connector(&self) -> &Connector {
        &self.connector
    }

    fn connected(&self, ready: &Ready) -> (Option<Closed>, VecDeque<Request>) {
        let mut state = lock(&self.state);
        state.out.open(Some(ready.connection.stream.clone()));
        state.due = true;
        state.failed = None;
        state.down = None;
        state.is_new = false;
        state.epoch = ready.epoch;
        if self.connector.scripts.are_of_cluster() {
            for channel in state.shard_channels.reconnect() {
                self.subscribe(&mut state, channel);
            }
        }
        (ready.epoch.closed, std::mem::take(&mut state.waiting))
    }

    async fn serve(&self, events: &dyn Events, ready: Ready) -> Option<StoreError> {
        let replaced = self.connector.route.replaced(&ready.server);
        let mut connection = ready.connection;
        let lease = self.connector.guard.options.lease();
        let mut link = Link {
            pipeline: self,
            events,
            renewal: ready.renewal,
            awaited: VecDeque::new(),
            again: Vec::new(),
            courtesy: Courtesy::default(),
            watchdog: Watchdog::new(lease, connection.slowest),
            next_ask: store::clock::now().after(ASKS_EVERY),
            asks: 0,
            facts: Vec::new(),
            beat: Box::pin(sleep(BEAT)),
        };
        // Replies may have arrived together with those of the set-up.
        let lost = match link.take(&mut connection.inbox) {
            Ok(()) => {
                let served = poll_fn(|cx| link.poll(cx, &mut connection));
                first(async { Err(replaced.await) }, served).await.err()?
            }
            Err(error) => error,
        };
        let lost = lost.as_kind(StoreErrorKind::Disconnected);
        link.lose(&lost);
        Some(lost)
    }

    fn still_disconnected(&self, error: StoreError) {
        lock(&self.state).down = Some(error);
    }

    fn is_done(&self) -> bool {
        let state = lock(&self.state);
        state.closed && state.waiting.is_empty()
    }

    fn poll_refused(&self, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        let mut state = lock(&self.state);
        match state.waiting.pop_front() {
            None if !state.closed => {
                state.sleep(cx);
                Poll::Pending
            }
            request => Poll::Ready(request),
        }
    }

    fn run(self: Arc<Self>, events: Arc<dyn Events>, serve: Serving) -> Boxed<'static, ()> {
        Box::pin(async move {
            let serving = async {
                #[cfg(feature = "replicas")]
                if let Some(replicas) = self.connector.guard.options.replicas {
                    replicas::confirmed(self.clone(), replicas, events, serve).await;
                    return;
                }
                serve(events).await;
            };
            first(serving, self.connector.route.watch()).await;
        })
    }

    fn abandon(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.out.open(None);
    }
}

impl Link<'_> {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<(), StoreError>> {
        while let Poll::Ready(read) = connection.poll_fill(cx) {
            match read {
                Ok(0) => {
                    let closed = StoreError::disconnected("the server closed the connection");
                    return Poll::Ready(Err(closed));
                }
                Ok(_) => {
                    self.take(&mut connection.inbox)?;
                    // Part of a long reply also shows that the server is alive.
                    self.watchdog.heard();
                    self.write_again();
                    // A write must not wait for the next read.
                    if self.pipeline.poll_write(cx)?.is_ready() {
                        return Poll::Ready(Ok(()));
                    }
                }
                Err(cause) => return Poll::Ready(Err(error::of_socket(&cause))),
            }
        }
        while self.beat.as_mut().poll(cx).is_ready() {
            self.beat.as_mut().reset(Instant::now() + BEAT);
            self.beat()?;
        }
        while let Poll::Ready(granted) = self.renewal.poll(cx) {
            let mut state = lock(&self.pipeline.state);
            self.pipeline.encode(&mut state, Awaited::Auth, |cmd| {
                hello::log_in(cmd, &granted)
            });
        }
        self.pipeline.poll_write(cx)
    }

    fn take(&mut self, inbox: &mut Inbox) -> Result<(), StoreError> {
        // Before any task is woken, so that the requests of the woken tasks share the write before this thread sleeps.
        let mut state = lock(&self.pipeline.state);
        state.due = true;
        state.reader.get_or_insert_with(|| thread::current().id());
        drop(state);
        let mut result = Ok(());
        let mut replied = false;
        let mut answered = 0;
        while let Some(value) = inbox
            .next()
            .map_err(|garbage| StoreError::disconnected(garbage.to_string()))?
        {
            if let Value::Push(words) = &value {
                replied |= self.confirm(words);
                let granted = reply::message(words).is_some_and(|it| deliver(self.events, it));
                answered += usize::from(granted);
                continue;
            }
            replied = true;
            answered += 1;
            result = result.and(self.land(value));
        }
        if replied {
            self.watchdog.answered();
        }
        self.courtesy.after(answered);
        result
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        let now = store::clock::now();
        let pipeline = self.pipeline;
        let mut state = lock(&pipeline.state);
        if self.next_ask <= now || lock(&pipeline.connector.guard.keys).are_new() {
            self.next_ask = now.after(ASKS_EVERY);
            self.watchdog.forget();
            pipeline.ask_epoch(&mut state, 0);
            state.shard_channels.sweep();
            if self.asks.is_multiple_of(ASKS_PER_FACTS) {
                pipeline.seal(&mut state);
                for cmd in Facts::question().cmd_iter() {
                    cmd.write_packed_command(&mut state.out.filling);
                    pipeline.expect(&mut state, Awaited::Fact);
                }
            }
            self.asks += 1;
        }
        let has_written = std::mem::take(&mut state.wrote);
        if self.watchdog.beat(now, has_written, pipeline.is_quiet())? {
            pipeline.encode(&mut state, Awaited::Unimportant, |cmd| cmd.arg("PING"));
        }
        Ok(())
    }
}

impl Pipeline {
    pub(super) fn refill(&self, awaited: &mut VecDeque<Awaited>) {
        if awaited.is_empty() {
            if awaited.capacity() > KEPT {
                *awaited = VecDeque::new();
            }
            let mut state = lock(&self.state);
            self.seal(&mut state);
            std::mem::swap(awaited, &mut state.awaited);
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0
    }

    pub(super) fn load_scripts(&self, state: &mut State) {
        for text in self.connector.scripts.texts() {
            self.encode(state, Awaited::Unimportant, |cmd| {
                cmd.arg("SCRIPT").arg("LOAD").arg(text)
            });
        }
    }

    /// Asks by the key with this index. Returns `false` if there are fewer keys.
    pub(super) fn ask_epoch(&self, state: &mut State, key: usize) -> bool {
        let lag = state.epoch.lag;
        let (scripts, guard) = (&self.connector.scripts, &self.connector.guard);
        self.seal(state);
        let asked = epoch::ask(&mut state.out.filling, scripts, guard, key, lag);
        if asked {
            lock(&guard.keys).asked_again();
            self.expect(state, Awaited::Epoch(key));
        }
        asked
    }

    /// Returns until when and why the server grants nothing, if so. An error ends the connection, because the server's
    /// state is unknown.
    pub(super) fn epoch_is(
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
                code if code.is_elsewhere() && self.ask_epoch(&mut state, key + 1) => Ok(None),
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
        let epoch = Epoch::read(reply, &self.connector.guard, state.epoch.lag, clock::now());
        let closed = epoch.filter(|epoch| epoch.closed.is_some());
        state.epoch = closed.unwrap_or(state.epoch);
        Ok(closed.and_then(|epoch| epoch.closed))
    }

    pub(super) fn subscribe(&self, state: &mut State, channel: String) {
        let asked = channel.clone();
        self.encode(state, Awaited::ShardChannel(channel), |cmd| {
            cmd.arg("SSUBSCRIBE").arg(asked)
        });
    }

    pub(super) fn lost_shard_channel(&self, channel: &str, error: Option<Code>) {
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

    /// Ready without an error once the store is closed and all requests are answered.
    pub(super) fn poll_write(&self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
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
            let unwritten = state.open > 0 || state.out.len() > 0;
            let idle = state.out.is_taken() || !unwritten;
            if idle {
                let done = state.closed && state.waiting.is_empty() && !state.held;
                if done && self.is_quiet() {
                    return Poll::Ready(Ok(()));
                }
                state.sleep(cx);
                return Poll::Pending;
            }
            let stuck = state.out.stream.as_ref();
            let stuck = stuck.filter(|_| state.out.is_stuck());
            match stuck.map(|stream| stream.poll_ready(cx)) {
                None | Some(Poll::Ready(Ok(()))) => self.write(state, true),
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
