//! [`Link`]: what the background thread does with a connection until it is lost.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    self, Answer, BEAT, Events, Node, NodeChange, Op, Request, StoreErrorKind,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Sleep, sleep};
use tokio_postgres::Row;

use crate::call::Call;
use crate::pipeline::Pipeline;
use crate::reply;
use crate::session::{Queries, Ready};
use crate::term::Term;
use crate::wire::{Use, Wire, tell};

/// How often the server is asked for its term. Suspended time counts.
const TERM: Duration = Duration::from_secs(10);
/// Forgets what nobody has used for long, if no client has done so lately.
const TIDY: &str = "SELECT auto_mutex.tidy(NULL)";
/// The limit of requests in flight.
const MOST: usize = 1024;

struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    queries: Queries,
    requests: Wire,
    coming: &'a mut UnboundedReceiver<Request>,
    term: store::Instant,
    beat: Pin<Box<Sleep>>,
    /// When to ask for messages, if the client does not listen. `None` while it asks.
    mail: Option<Pin<Box<Sleep>>>,
}

/// Returns `None` once the store is closed and all requests are answered. An error is the answer to all requests in
/// flight.
pub(crate) async fn serve(
    pipeline: &Pipeline,
    events: &dyn Events,
    ready: Ready,
    coming: &mut UnboundedReceiver<Request>,
) -> Option<StoreError> {
    let lease = pipeline.connector.options.lease();
    // The first question for messages, before all requests, tells the store of this member.
    let asks = pipeline.connector.is_pooled();
    let mut link = Link {
        pipeline,
        events,
        queries: ready.queries,
        requests: Wire::of(ready.requests, lease),
        coming,
        term: store::clock::now().after(TERM),
        beat: Box::pin(sleep(BEAT)),
        mail: asks.then(|| Box::pin(sleep(Duration::ZERO))),
    };
    let served = poll_fn(|cx| link.poll(cx)).await;
    let lost = served.err()?.as_kind(StoreErrorKind::Disconnected);
    link.lose(&lost);
    Some(lost)
}

impl Link<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        while self.beat.as_mut().poll(cx).is_ready() {
            self.beat.as_mut().reset(Instant::now() + BEAT);
            self.beat(cx)?;
        }
        loop {
            self.ask_for_mail(cx, false);
            let closed = self.send(cx);
            let mut is_busy = self.requests.hear(cx, self.events)?;
            while let Some((purpose, answer)) = self.requests.land(cx) {
                self.land(purpose, answer)?;
                is_busy = true;
            }
            if !is_busy {
                return match closed && self.requests.in_flight() == 0 {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            }
        }
    }

    fn ask_for_mail(&mut self, cx: &mut Context<'_>, now: bool) {
        let is_due = |mail: &mut Pin<Box<Sleep>>| {
            now || mail.deadline() <= Instant::now() || mail.as_mut().poll(cx).is_ready()
        };
        if self.mail.take_if(is_due).is_some() {
            let call = Call::read_mail(self.pipeline.connector.member);
            let run = self.queries.run(&self.requests.client, call);
            self.requests.start(cx, Use::Mail, Box::pin(run));
        }
    }

    /// Sends what has come. Returns whether the store was closed.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let (caller, opens) = (self.pipeline.connector.member, self.pipeline.opens());
        while self.requests.in_flight() < MOST {
            let Poll::Ready(request) = self.coming.poll_recv(cx) else {
                return false;
            };
            let Some(request) = request else {
                return true;
            };
            // If a lock was broken, the message says so; the answer to a renewal says only that it is gone.
            self.ask_for_mail(cx, matches!(request.op, Op::Touch { .. }));
            let call = Call::of(&request.name, &request.op, caller, opens);
            let purpose = Use::Request(request, call.function);
            let run = self.queries.run(&self.requests.client, call);
            self.requests.start(cx, purpose, Box::pin(run));
        }
        false
    }

    /// Passes an answer on. An error ends the connection.
    fn land(
        &mut self,
        purpose: Use,
        answer: Result<Vec<Row>, StoreError>,
    ) -> Result<(), StoreError> {
        match purpose {
            Use::Request(request, function) => {
                let result = answer.and_then(|rows| reply::parse(function, &rows));
                let fatal = result.as_ref().err().filter(|it| it.is_disconnected());
                let outlives = fatal.cloned().map_or(Ok(()), Err);
                self.events.answered(Answer { request, result });
                outlives
            }
            Use::Mail => {
                let pause = self.pipeline.connector.postgres.poll.unwrap_or(BEAT);
                self.mail = Some(Box::pin(sleep(pause)));
                match answer {
                    Ok(rows) => reply::messages(&rows)?
                        .into_iter()
                        .for_each(|message| tell(self.events, message)),
                    Err(error) if error.is_disconnected() => return Err(error),
                    Err(_) => {}
                }
                Ok(())
            }
            Use::Term => {
                let term = match answer {
                    Ok(rows) => Term::read(&rows).ok_or_else(reply::nonsense)?,
                    Err(error) if error.kind() == StoreErrorKind::Busy => return Ok(()),
                    Err(error) => return Err(error),
                };
                let closed = self.pipeline.term_is(term)?;
                if closed.is_some() {
                    let change = NodeChange::Closed(closed);
                    self.events.node_changed(Node::ONLY, change);
                }
                Ok(())
            }
            Use::Nothing => answer.map(drop),
        }
    }

    fn beat(&mut self, cx: &mut Context<'_>) -> Result<(), StoreError> {
        let now = store::clock::now();
        if self.term <= now {
            self.term = now.after(TERM);
            self.requests.watchdog.forget();
            let client = self.requests.client.clone();
            let longest = self.pipeline.connector.options.longest_lease;
            let asked = async move { Term::ask(&client, Some(longest)).await };
            self.requests.start(cx, Use::Term, Box::pin(asked));
            let client = self.requests.client.clone();
            // Whatever goes wrong there, another client tries in ten seconds.
            let tidied = async move { client.query_typed(TIDY, &[]).await.or(Ok(Vec::new())) };
            self.requests.start(cx, Use::Nothing, Box::pin(tidied));
        }
        self.requests.beat(cx)
    }

    fn lose(&mut self, error: &StoreError) {
        self.pipeline.disconnected(error.clone());
        let unsent = std::iter::from_fn(|| self.coming.try_recv().ok());
        for request in self.requests.lose().chain(unsent) {
            self.events.answered(request.failed(error.clone()));
        }
    }
}
