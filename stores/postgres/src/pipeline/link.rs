//! [`Link`]: what the background thread does with a connection until it is lost. The server answers queries in the order in which
//! they were sent.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_net::{BEAT, Serves, Watchdog};
use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    self, Answer, Boxed, Closed, ConnectError, Events, Node, NodeChange, Op, Request,
    StoreErrorKind, lock, parse_message,
};
use tokio::time::{Instant, Sleep, sleep};
use tokio_postgres::{AsyncMessage, Error, Row};

use super::Pipeline;
use crate::call::{Call, stored};
use crate::epoch::Epoch;
use crate::error;
use crate::reply;
use crate::session::{Connector, Ready};

/// How often the server is asked for its epoch. Suspended time counts.
const ASKS_EVERY: Duration = Duration::from_secs(10);
/// Forgets what nobody has used for long, if no client has done so lately.
const TIDY: &str = "SELECT auto_mutex.tidy(NULL)";
/// The limit of requests in flight.
const MOST: usize = 1024;
/// The pause after a brief connection: if a part of a table is missing, each one ends with its first request.
const BRIEF: Duration = Duration::from_millis(200);

/// What an answer is for.
enum Use {
    /// With the function that was called.
    Request(Request, &'static str),
    Mail,
    Epoch,
    /// Only to see whether the server is there.
    Nothing,
}

type Run = Boxed<'static, Result<Vec<Row>, Error>>;

struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    ready: Ready,
    flying: VecDeque<(Use, Run)>,
    watchdog: Watchdog,
    /// Whether something was sent since the last beat.
    wrote: bool,
    next_ask: store::Instant,
    beat: Pin<Box<Sleep>>,
    /// When to ask for messages, if the client does not listen. `None` while it asks.
    mail: Option<Pin<Box<Sleep>>>,
}

impl Serves for Pipeline {
    type Connector = Connector;

    const BRIEF: Duration = BRIEF;

    fn connector(&self) -> &Connector {
        &self.connector
    }

    fn connected(&self, ready: &Ready) -> (Option<Closed>, VecDeque<Request>) {
        let mut state = lock(&self.state);
        state.is_new = false;
        state.down = None;
        state.epoch = ready.epoch.clone();
        (ready.epoch.closed, VecDeque::new())
    }

    async fn serve(&self, events: &dyn Events, ready: Ready) -> Option<StoreError> {
        let lease = self.connector.options.lease();
        // The first question for messages, before all requests, tells the store of this member.
        let asks = self.connector.is_pooled();
        let mut link = Link {
            pipeline: self,
            events,
            ready,
            flying: VecDeque::new(),
            watchdog: Watchdog::new(lease, Duration::ZERO),
            wrote: false,
            next_ask: store::clock::now().after(ASKS_EVERY),
            beat: Box::pin(sleep(BEAT)),
            mail: asks.then(|| Box::pin(sleep(Duration::ZERO))),
        };
        let served = poll_fn(|cx| link.poll(cx)).await;
        let lost = served.err()?.as_kind(StoreErrorKind::Disconnected);
        link.lose(&lost);
        Some(lost)
    }

    fn still_disconnected(&self, error: StoreError) {
        lock(&self.state).down = Some(error);
    }

    fn is_done(&self) -> bool {
        lock(&self.state).requests.is_none()
    }

    fn poll_refused(&self, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        lock(&self.coming).poll_recv(cx)
    }

    fn forgets(&self, error: &ConnectError) -> bool {
        error::is_without_database(error)
    }
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
            let mut is_busy = self.hear(cx)?;
            while let Some((_, run)) = self.flying.front_mut()
                && let Poll::Ready(answer) = run.as_mut().poll(cx)
                && let Some((purpose, _)) = self.flying.pop_front()
            {
                self.watchdog.answered();
                self.land(purpose, answer.map_err(|error| error::of(&error)))?;
                is_busy = true;
            }
            if !is_busy {
                return match closed && self.flying.is_empty() {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            }
        }
    }

    /// The first poll of a future sends its query.
    fn start(
        &mut self,
        cx: &mut Context<'_>,
        purpose: Use,
        run: impl Future<Output = Result<Vec<Row>, Error>> + Send + 'static,
    ) {
        let mut run: Run = Box::pin(run);
        if let Poll::Ready(answer) = run.as_mut().poll(cx) {
            run = Box::pin(ready(answer));
        }
        self.wrote = true;
        self.flying.push_back((purpose, run));
    }

    /// Reads and writes. Returns whether a message has arrived. Answers go to their futures.
    fn hear(&mut self, cx: &mut Context<'_>) -> Result<bool, StoreError> {
        let mut heard = false;
        loop {
            match self.ready.requests.connection.poll_message(cx) {
                Poll::Pending => return Ok(heard),
                Poll::Ready(Some(Ok(message))) => {
                    if let AsyncMessage::Notification(message) = message {
                        tell(self.events, message.payload());
                        heard = true;
                    }
                    self.watchdog.heard();
                }
                Poll::Ready(Some(Err(error))) => return Err(error::of(&error)),
                Poll::Ready(None) => {
                    let text = "the server closed the connection";
                    return Err(StoreError::disconnected(text));
                }
            }
        }
    }

    fn ask_for_mail(&mut self, cx: &mut Context<'_>, now: bool) {
        let is_due = |mail: &mut Pin<Box<Sleep>>| {
            now || mail.deadline() <= Instant::now() || mail.as_mut().poll(cx).is_ready()
        };
        if self.mail.take_if(is_due).is_some() {
            let call = Call::read_mail(self.pipeline.connector.member);
            let run = self.ready.run(call);
            self.start(cx, Use::Mail, run);
        }
    }

    /// Sends what has come. Returns whether the store was closed.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let (caller, opens) = (self.pipeline.connector.member, self.pipeline.opens());
        while self.flying.len() < MOST {
            let Poll::Ready(request) = lock(&self.pipeline.coming).poll_recv(cx) else {
                return false;
            };
            let Some(request) = request else {
                return true;
            };
            // If a lock was broken, the message says so; the answer to a renewal says only that it is gone.
            self.ask_for_mail(cx, matches!(request.op, Op::Touch { .. }));
            let call = Call::of(&request.name, &request.op, caller, opens);
            let purpose = Use::Request(request, call.function);
            let run = self.ready.run(call);
            self.start(cx, purpose, run);
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
            Use::Epoch => {
                let epoch = match answer {
                    Ok(rows) => Epoch::read(&rows).ok_or_else(reply::nonsense)?,
                    Err(error) if error.kind() == StoreErrorKind::Busy => return Ok(()),
                    Err(error) => return Err(error),
                };
                let closed = self.pipeline.epoch_is(epoch)?;
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
        let client = self.ready.requests.client.clone();
        if self.next_ask <= now {
            self.next_ask = now.after(ASKS_EVERY);
            self.watchdog.forget();
            let longest = self.pipeline.connector.options.longest_lease;
            let (asking, tidying) = (client.clone(), client.clone());
            let asked = async move { Epoch::ask(&asking, Some(longest)).await };
            self.start(cx, Use::Epoch, asked);
            // Whatever goes wrong there, another client tries in ten seconds.
            let tidied = async move { tidying.query_typed(TIDY, &[]).await.or(Ok(Vec::new())) };
            self.start(cx, Use::Nothing, tidied);
        }
        let wrote = std::mem::take(&mut self.wrote);
        if self.watchdog.beat(now, wrote, self.flying.is_empty())? {
            let ping = async move { client.batch_execute("").await.map(|()| Vec::new()) };
            self.start(cx, Use::Nothing, ping);
        }
        Ok(())
    }

    fn lose(&mut self, error: &StoreError) {
        lock(&self.pipeline.state).down = Some(error.clone());
        let unsent = std::iter::from_fn(|| lock(&self.pipeline.coming).try_recv().ok());
        let flying = std::mem::take(&mut self.flying).into_iter();
        let flying = flying.filter_map(|(purpose, _)| match purpose {
            Use::Request(request, _) => Some(request),
            _ => None,
        });
        for request in flying.chain(unsent) {
            self.events.answered(request.failed(error.clone()));
        }
    }
}

fn tell(events: &dyn Events, payload: &str) {
    if let Some((name, message)) = parse_message(&stored(payload)) {
        events.told(&name, message);
    }
}
