//! [`Link`]: one connection, served by the engine until it's lost. A reply belongs to the oldest request without one.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::store::{Events, Message, StoreErrorKind};
use auto_mutex_core::{StoreError, store};
use tokio::time::{Instant, Sleep, sleep};

use super::connect::Ready;
use super::connect::renewal::Renewal;
use super::error;
use super::pending::Pending;
use super::pipeline::Pipeline;
use super::push;
use crate::wire::{Connection, Value};

/// The watchdog's interval. It counts intervals, not time: a suspended process would take its own sleep for silence.
const BEAT: Duration = Duration::from_millis(500);
/// Intervals without an answer until the connection is given up; more if recent answers were slow. If all clients of a
/// busy server reconnected, it would get their requests again.
const PATIENCE: u32 = 4;
/// The watchdog waits this many times as long as the slowest recent answer took, up to half a minute.
const SLOWER: u32 = 4;
const MOST_PATIENCE: u32 = 60;
/// After this many idle intervals the watchdog sends a ping: three seconds.
const IDLE: u32 = 6;
/// How often the server is asked for its term. A suspend counts, because the server may fail over meanwhile.
const TERM: Duration = Duration::from_secs(10);

/// If one read brings at most this many answers, they are for one or two tasks, which are about to submit more requests.
const A_FEW: u32 = 2;

pub(super) struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    connection: Connection,
    pending: Pending,
    renewal: Renewal,
    /// Intervals since the last write.
    idle: u32,
    /// Intervals since the last answer; zero while no reply is outstanding.
    silent: u32,
    /// How many intervals the slowest answer took; decays over time.
    slowest: u32,
    term: store::Instant,
    beat: Pin<Box<Sleep>>,
}

impl<'a> Link<'a> {
    pub(super) fn new(pipeline: &'a Pipeline, events: &'a dyn Events, ready: Ready) -> Self {
        let Ready {
            connection,
            renewal,
            ..
        } = ready;
        let slowest = connection.slowest;
        Self {
            pipeline,
            events,
            connection,
            pending: Pending::default(),
            renewal,
            idle: 0,
            silent: 0,
            slowest: (slowest.as_millis() / BEAT.as_millis()).min(MOST_PATIENCE.into()) as u32,
            term: store::Instant::now().after(TERM),
            beat: Box::pin(sleep(BEAT)),
        }
    }

    /// `None`: closed, and all requests are answered. An error is the answer to all requests in flight.
    pub(super) async fn serve(
        mut self,
        replaced: impl Future<Output = StoreError>,
    ) -> Option<StoreError> {
        let mut replaced = pin!(replaced);
        // Replies may have arrived together with those of the set-up.
        let lost = match self.take() {
            Ok(()) => {
                let served = poll_fn(|cx| match replaced.as_mut().poll(cx) {
                    Poll::Ready(error) => Poll::Ready(Err(error)),
                    Poll::Pending => self.poll(cx),
                });
                served.await.err()?
            }
            Err(error) => error,
        };
        let lost = lost.as_kind(StoreErrorKind::Disconnected);
        self.pending.lose(self.pipeline, self.events, &lost);
        Some(lost)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        while let Poll::Ready(read) = self.connection.poll_fill(cx) {
            match read {
                Ok(0) => {
                    let closed = StoreError::disconnected("the server closed the connection");
                    return Poll::Ready(Err(closed));
                }
                Ok(_) => {
                    self.take()?;
                    // A part of a long reply also proves that the server is alive.
                    self.silent = 0;
                    self.pending.write_again(self.pipeline);
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
            self.pipeline.authenticate(&granted);
        }
        self.pipeline.poll_write(cx)
    }

    fn take(&mut self) -> Result<(), StoreError> {
        // `awake` is called before any task is woken, so that the requests of the woken tasks share one write.
        self.pipeline.awake();
        let mut result = Ok(());
        let mut replied = false;
        let mut answered = 0;
        while let Some(value) = self
            .connection
            .inbox
            .next()
            .map_err(|garbage| StoreError::disconnected(garbage.to_string()))?
        {
            if let Value::Push(words) = &value {
                replied |= self.pending.confirm(self.pipeline, words);
                answered += u32::from(tell(self.events, words));
                continue;
            }
            replied = true;
            answered += 1;
            let landed = self.pending.land(self.pipeline, self.events, &value);
            result = result.and(landed);
        }
        if let Some(answer) = self.pending.authenticated() {
            self.renewal.answered(answer);
        }
        if replied {
            self.slowest = self.slowest.max(self.silent);
            self.silent = 0;
        }
        if (1..=A_FEW).contains(&answered) {
            // Lets the woken task run first, so that its release and its next acquire share one write.
            std::thread::yield_now();
        }
        result
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        let now = store::Instant::now();
        if self.term <= now || self.pipeline.connector.guard.keys.are_new() {
            self.term = now.after(TERM);
            self.slowest /= 2;
            self.pipeline.ask_term();
            self.pipeline.sweep_shard_channels();
        }
        self.idle = if self.pipeline.has_written() {
            0
        } else {
            self.idle + 1
        };
        if !self.pipeline.is_quiet() {
            self.silent += 1;
            if self.silent > (self.slowest * SLOWER).clamp(PATIENCE, MOST_PATIENCE) {
                return Err(StoreError::disconnected("the server does not answer"));
            }
        } else {
            self.silent = 0;
            if self.idle >= IDLE {
                self.pipeline.ping();
            }
        }
        Ok(())
    }
}

/// Passes on the message in a push; returns whether the message is a grant.
fn tell(events: &dyn Events, words: &[Value<'_>]) -> bool {
    let Some((name, message)) = push::read(words) else {
        return false;
    };
    let granted = matches!(message, Message::Grant { .. });
    events.told(&name, message);
    granted
}
