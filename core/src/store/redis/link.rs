//! [`Link`]: one connection, served by the engine until it is lost.
//!
//! One read takes all replies that have arrived. Each reply belongs to the oldest request without a reply.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::connect::Ready;
use super::connect::renewal::Renewal;
use super::error;
use super::pending::Pending;
use super::pipeline::Pipeline;
use super::push;
use crate::clock;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Events, Message};
use crate::wire::{Connection, Value};

/// The interval of the watchdog. The watchdog counts intervals instead of time. Otherwise a process that was
/// suspended would take the time of its own sleep for silence of the server.
const BEAT: Duration = Duration::from_millis(500);
/// The connection is given up after this many intervals without an answer: two seconds, and more if recent answers
/// were slow. A busy server is slow for many clients; if all of them reconnected, the server would get their
/// requests again.
const PATIENCE: u32 = 4;
/// The watchdog waits this many times as long as the slowest recent answer took, up to half a minute.
const SLOWER: u32 = 4;
const MOST_PATIENCE: u32 = 60;
/// After this many idle intervals the watchdog sends a ping: three seconds.
const IDLE: u32 = 6;
/// How often the server is asked for its term. The time for which a process is suspended counts too, because the
/// server may fail over during that time.
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
    /// When to ask the server for its term.
    term: clock::Instant,
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
            term: clock::Instant::now().after(TERM),
            beat: Box::pin(sleep(BEAT)),
        }
    }

    /// Serves until `Store::close` was called and all requests are answered (`None`), the connection is lost, or the server
    /// is `replaced`. An error is the answer to all requests in flight; requests that are not yet in the buffer get no answer.
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

    /// Handles all replies that have arrived completely.
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
            // If no processor is idle, this lets the woken task run before the engine continues. Then the task's release
            // and its next acquire share one write.
            std::thread::yield_now();
        }
        result
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        let now = clock::Instant::now();
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
