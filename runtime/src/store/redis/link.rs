//! [`Link`]: one connection as the engine serves it, until it is lost.
//!
//! One read takes as many replies as there are; each belongs to the first that awaits one.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::error;
use super::pending::Pending;
use super::pipeline::Pipeline;
use super::push;
use crate::clock;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Events, Message};
use crate::wire::{Inbox, Reading, Value};

/// The watchdog's beat. Beats are counted instead of time: a process that was stopped must not take its own
/// sleep for the server's silence.
const BEAT: Duration = Duration::from_millis(500);
/// Beats without an answer after which the connection is given up: two seconds, and more where answers have taken long lately. A
/// server that is busy is slow for many, and all of them would come back at once to ask it the same again.
const PATIENCE: u32 = 4;
/// So many times what the slowest answer took is waited for, half a minute at most.
const SLOWER: u32 = 4;
const MOST_PATIENCE: u32 = 60;
/// Beats without a word after which the server is asked for one: three seconds.
const IDLE: u32 = 6;
/// After which time the server is asked for its term again. The time of a process that was stopped counts: much may have
/// happened to the server.
const TERM: Duration = Duration::from_secs(10);

/// So many answers at a time are those of one or two tasks, which are about to submit more.
const A_FEW: u32 = 2;

pub(super) struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    reading: Reading,
    inbox: Inbox,
    pending: Pending,
    /// Beats since something was written.
    idle: u32,
    /// Beats since something was answered, while something is to be.
    silent: u32,
    /// Beats that the slowest answer took; forgotten by and by.
    slowest: u32,
    /// When the server is to be asked for its term.
    term: clock::Instant,
    beat: Pin<Box<Sleep>>,
}

impl<'a> Link<'a> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        events: &'a dyn Events,
        reading: Reading,
        inbox: Inbox,
        slowest: Duration,
    ) -> Self {
        Self {
            pipeline,
            events,
            reading,
            inbox,
            pending: Pending::default(),
            idle: 0,
            silent: 0,
            slowest: (slowest.as_millis() / BEAT.as_millis()).min(MOST_PATIENCE.into()) as u32,
            term: clock::Instant::now().after(TERM),
            beat: Box::pin(sleep(BEAT)),
        }
    }

    /// Serves until the store is closed (`None`), the connection is lost, or the server is `replaced`. What is under way is
    /// answered before it returns; what has no room on the connection is not.
    pub(super) async fn serve(
        mut self,
        replaced: impl Future<Output = StoreError>,
    ) -> Option<StoreError> {
        let mut replaced = pin!(replaced);
        // Something may have come with the last words of the set-up.
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
        while let Poll::Ready(read) = self.inbox.poll_fill(cx, &mut self.reading) {
            match read {
                Ok(0) => {
                    let closed = StoreError::disconnected("the server closed the connection");
                    return Poll::Ready(Err(closed));
                }
                Ok(_) => {
                    self.take()?;
                    // A part of a long reply is a word too.
                    self.silent = 0;
                    self.pending.write_again(self.pipeline);
                    // Nobody waits for more to be read.
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
        self.pipeline.poll_write(cx)
    }

    /// All that came completely.
    fn take(&mut self) -> Result<(), StoreError> {
        // Before anybody is told anything: what he submits then shares a write.
        self.pipeline.awake();
        let mut result = Ok(());
        let mut replied = false;
        let mut answered = 0;
        while let Some(value) = self
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
        if replied {
            self.slowest = self.slowest.max(self.silent);
            self.silent = 0;
        }
        if (1..=A_FEW).contains(&answered) {
            // Whoever waited for this goes first if there is no processor to spare: what he submits then, to
            // release and to acquire anew, goes together.
            std::thread::yield_now();
        }
        result
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        let now = clock::Instant::now();
        if self.term <= now || self.pipeline.guard.keys.are_new() {
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

/// Says whether somebody was granted what he waits for.
fn tell(events: &dyn Events, words: &[Value<'_>]) -> bool {
    let Some((name, message)) = push::read(words) else {
        return false;
    };
    let granted = matches!(message, Message::Grant { .. });
    events.told(&name, message);
    granted
}
