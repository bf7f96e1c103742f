//! [`Link`]: a connection, served by the background thread until it is lost. Each reply belongs to the oldest
//! unanswered request.

pub(crate) mod driver;
#[cfg(feature = "replicas")]
mod replicas;
mod replies;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::store::{BEAT, Events, StoreErrorKind, Watchdog, deliver, first, lock};
use auto_mutex_core::{StoreError, store};
use tokio::time::{Instant, Sleep, sleep};

use crate::connect::{Ready, facts};
use crate::error;
use crate::login::renewal::Renewal;
use crate::pipeline::Pipeline;
use crate::pipeline::pending::{Awaited, Sending};
use crate::script::reply;
use crate::wire::{Connection, Inbox, Value};

/// How often the server is asked for its term. Suspended time counts, because the server may fail over meanwhile.
const TERM: Duration = Duration::from_secs(10);
/// The settings are read with the first term, when the replicas of a new primary are back, and every ten minutes.
const TERMS_PER_FACTS: u32 = 60;

/// If one read brings at most this many answers, they belong to one or two tasks that are about to submit more
/// requests.
const A_FEW: u32 = 2;

struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    renewal: Renewal,
    awaited: VecDeque<Awaited>,
    /// Requests that must be sent again.
    again: Vec<Sending>,
    watchdog: Watchdog,
    term: store::Instant,
    terms: u32,
    facts: Vec<facts::Answer>,
    beat: Pin<Box<Sleep>>,
}

/// Returns `None` once the store is closed and all requests are answered. An error is the answer to all requests in
/// flight.
pub(crate) async fn serve(
    pipeline: &Pipeline,
    events: &dyn Events,
    ready: Ready,
    replaced: impl Future<Output = StoreError>,
) -> Option<StoreError> {
    let mut connection = ready.connection;
    let lease = pipeline.connector.guard.options.lease();
    let mut link = Link {
        pipeline,
        events,
        renewal: ready.renewal,
        awaited: VecDeque::new(),
        again: Vec::new(),
        watchdog: Watchdog::new(lease, connection.slowest),
        term: store::clock::now().after(TERM),
        terms: 0,
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
            self.pipeline.authenticate(&granted);
        }
        self.pipeline.poll_write(cx)
    }

    fn take(&mut self, inbox: &mut Inbox) -> Result<(), StoreError> {
        // Call `awake` before any task is woken, so that the requests of the woken tasks share one write.
        self.pipeline.awake();
        let mut result = Ok(());
        let mut replied = false;
        let mut answered = 0;
        while let Some(value) = inbox
            .next()
            .map_err(|garbage| StoreError::disconnected(garbage.to_string()))?
        {
            if let Value::Push(words) = &value {
                replied |= self.confirm(words);
                answered += u32::from(tell(self.events, words));
                continue;
            }
            replied = true;
            answered += 1;
            result = result.and(self.land(value));
        }
        if replied {
            self.watchdog.answered();
        }
        if (1..=A_FEW).contains(&answered) {
            // Let the woken task run first, so that its release and its next acquire share one write.
            std::thread::yield_now();
        }
        result
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        let now = store::clock::now();
        let pipeline = self.pipeline;
        if self.term <= now || lock(&pipeline.connector.guard.keys).are_new() {
            self.term = now.after(TERM);
            self.watchdog.forget();
            pipeline.ask_term();
            if self.terms.is_multiple_of(TERMS_PER_FACTS) {
                pipeline.ask_facts();
            }
            self.terms += 1;
        }
        let has_written = pipeline.has_written();
        if self.watchdog.beat(has_written, pipeline.is_quiet())? {
            pipeline.ping();
        }
        Ok(())
    }
}

/// Returns whether it was a grant.
fn tell(events: &dyn Events, words: &[Value<'_>]) -> bool {
    reply::message(words).is_some_and(|text| deliver(events, text))
}
