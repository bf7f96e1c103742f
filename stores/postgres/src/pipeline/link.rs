//! [`Link`]: what the background thread does with a connection until it is lost. The server answers queries in the
//! order in which they were sent.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_net::{BEAT, Courtesy, Serves, Watchdog};
use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    self, Answer, Boxed, Closed, ConnectError, Events, Node, NodeChange, Op, Request,
    StoreErrorKind, lock, parse_message,
};
use tokio::time::{Instant, Sleep, sleep};
use tokio_postgres::{AsyncMessage, Error, Row};

use super::Pipeline;
use crate::call::{Call, is_plain, stored};
use crate::epoch::Epoch;
use crate::error;
use crate::reply;
use crate::session::{Connector, Ready};

/// How often the server is asked for its epoch. Suspended time counts.
const ASKS_EVERY: Duration = Duration::from_secs(10);
/// Forgets what nobody has used for long, if no client has done so lately.
const TIDY: &str = "SELECT auto_mutex.tidy(NULL)";
/// The limit of requests in flight. Plain ones run together while `FEW` are: the server works on one, and has the next.
const MOST: usize = 1024;
const FEW: usize = 2;
/// How many requests run together: no transaction takes long. A request that waited too long for a row made the others
/// fail with it; for a while, each goes alone then.
const TOGETHER: usize = 12;
const APART: Duration = Duration::from_secs(10);
/// After this many beats without a request, an idle client stops listening.
const QUIET: u32 = 2;
/// The pause after a brief connection: if a part of a table is missing, each one ends with its first request.
const BRIEF: Duration = Duration::from_millis(200);

/// What an answer is for.
enum Use {
    /// With the function that was called.
    Requests(Vec<Request>, &'static str),
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
    waiting: VecDeque<Request>,
    flying: VecDeque<(Use, Run)>,
    /// Until then, each request goes alone.
    apart_until: store::Instant,
    listens: bool,
    /// How many beats there was no request.
    quiet: u32,
    courtesy: Courtesy,
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
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
            apart_until: store::Instant::START,
            listens: asks,
            quiet: 0,
            courtesy: Courtesy::default(),
            watchdog: Watchdog::new(lease, Duration::ZERO),
            wrote: false,
            next_ask: store::clock::now().after(ASKS_EVERY),
            beat: Box::pin(sleep(BEAT)),
            mail: asks.then(|| Box::pin(sleep(Duration::ZERO))),
        };
        if !events.is_idle() {
            poll_fn(|cx| {
                link.listen(cx);
                Poll::Ready(())
            })
            .await;
        }
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
            let mut answered = self.hear(cx)?;
            let mut is_busy = answered > 0;
            while let Some((_, run)) = self.flying.front_mut()
                && let Poll::Ready(answer) = run.as_mut().poll(cx)
                && let Some((purpose, _)) = self.flying.pop_front()
            {
                self.watchdog.answered();
                if let Use::Requests(requests, _) = &purpose {
                    answered += requests.len();
                }
                self.land(purpose, answer.map_err(|error| error::of(&error)))?;
                is_busy = true;
            }
            if !is_busy {
                return match closed && self.flying.is_empty() && self.waiting.is_empty() {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            }
            self.courtesy.after(answered);
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

    /// Reads and writes. Returns how many messages have arrived. Answers go to their futures.
    fn hear(&mut self, cx: &mut Context<'_>) -> Result<usize, StoreError> {
        let mut heard = 0;
        loop {
            match self.ready.requests.connection.poll_message(cx) {
                Poll::Pending => return Ok(heard),
                Poll::Ready(Some(Ok(message))) => {
                    if let AsyncMessage::Notification(message) = message {
                        tell(self.events, message.payload());
                        heard += 1;
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
        let closed = loop {
            match lock(&self.pipeline.coming).poll_recv(cx) {
                Poll::Ready(Some(request)) => self.waiting.push_back(request),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        let (caller, opens) = (self.pipeline.connector.member, self.pipeline.opens());
        while let Some(first) = self.waiting.front()
            && self.flying.len() < if is_plain(&first.op) { FEW } else { MOST }
        {
            // If a lock was broken, the message says so; the answer to a renewal says only that it is gone.
            let touches = matches!(first.op, Op::Touch { .. });
            self.listen(cx);
            self.quiet = 0;
            let apart = store::clock::now() < self.apart_until;
            let plain = self.waiting.iter().take_while(|it| is_plain(&it.op));
            let count = plain.take(if apart { 1 } else { TOGETHER }).count().max(1);
            let mut requests: Vec<_> = self.waiting.drain(..count).collect();
            self.ask_for_mail(cx, touches);
            let call = match &*requests {
                [only] => Call::of(&only.name, &only.op, caller, opens),
                _ => {
                    requests.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
                    let operations = requests.iter().map(|it| (&it.name, &it.op));
                    Call::together(operations, caller, opens)
                }
            };
            let purpose = Use::Requests(requests, call.function);
            let run = self.ready.run(call);
            self.start(cx, purpose, run);
        }
        closed
    }

    fn listen(&mut self, cx: &mut Context<'_>) {
        if !std::mem::replace(&mut self.listens, true) {
            let hear = self
                .ready
                .requests
                .hear(self.pipeline.connector.member, true);
            self.start(cx, Use::Nothing, hear);
        }
    }

    /// Passes an answer on. An error ends the connection.
    fn land(
        &mut self,
        purpose: Use,
        answer: Result<Vec<Row>, StoreError>,
    ) -> Result<(), StoreError> {
        match purpose {
            Use::Requests(requests, function) => {
                let replies = answer.and_then(|rows| reply::parse(function, &rows));
                let replies = replies.and_then(|replies| match replies.len() == requests.len() {
                    true => Ok(replies),
                    false => Err(reply::nonsense()),
                });
                let fatal = replies.as_ref().err().filter(|it| it.is_disconnected());
                let outlives = fatal.cloned().map_or(Ok(()), Err);
                match replies {
                    Ok(replies) => {
                        for (request, reply) in requests.into_iter().zip(replies) {
                            let result = Ok(reply);
                            self.events.answered(Answer { request, result });
                        }
                    }
                    Err(error) => {
                        if requests.len() > 1 {
                            self.apart_until = store::clock::now().after(APART);
                        }
                        for request in requests {
                            self.events.answered(request.failed(error.clone()));
                        }
                    }
                }
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
        self.quiet += 1;
        if self.quiet >= QUIET && self.listens && !self.ready.in_epoch && self.events.is_idle() {
            self.listens = false;
            let hear = self
                .ready
                .requests
                .hear(self.pipeline.connector.member, false);
            self.start(cx, Use::Nothing, hear);
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
        let flying = flying.flat_map(|(purpose, _)| match purpose {
            Use::Requests(requests, _) => requests,
            _ => Vec::new(),
        });
        let waiting = std::mem::take(&mut self.waiting);
        for request in flying.chain(waiting).chain(unsent) {
            self.events.answered(request.failed(error.clone()));
        }
    }
}

fn tell(events: &dyn Events, payload: &str) {
    if let Some((name, message)) = parse_message(&stored(payload)) {
        events.told(&name, message);
    }
}
