//! [`Link`]: a connection, served by the background thread until it is lost. The server answers requests in the order in which
//! they were sent.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    self, Answer, BEAT, Boxed, Events, Message, Node, NodeChange, Reply, Request, StoreErrorKind,
    Watchdog,
};
use tokio::time::{Instant, Sleep, sleep};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Row};

use crate::call::{Call, Caller, Function, stored};
use crate::error;
use crate::pipeline::Pipeline;
use crate::reply;
use crate::session::{Queries, Ready};
use crate::socket::Channel;
use crate::term::Term;

/// How often the server is asked for its term. Suspended time counts.
const TERM: Duration = Duration::from_secs(10);
/// Forgets idle names, and rewrites tables full of old rows, if nobody has done so lately.
const TIDY: &str = "SELECT auto_mutex.tidy(NULL)";
/// The limit of requests in flight.
const MOST: usize = 1024;

/// What awaits an answer.
enum Flight {
    Request(Request, Function, Boxed<'static, Result<Vec<Row>, Error>>),
    Mail(Boxed<'static, Result<Vec<Row>, Error>>),
    Term(Boxed<'static, Result<Term, Error>>),
    Ping(Boxed<'static, Result<(), Error>>),
}

struct Link<'a> {
    pipeline: &'a Pipeline,
    events: &'a dyn Events,
    client: Arc<Client>,
    connection: Connection<Channel, Channel>,
    queries: Queries,
    listener: Option<Listener>,
    coming: VecDeque<Request>,
    flying: VecDeque<Flight>,
    watchdog: Watchdog,
    /// Whether a request was sent since the last beat.
    wrote: bool,
    term: store::Instant,
    beat: Pin<Box<Sleep>>,
    /// When to ask for messages, if the client does not listen. `None` while it asks.
    mail: Option<Pin<Box<Sleep>>>,
}

/// The connection of the messages, if it is another one.
struct Listener {
    client: Arc<Client>,
    connection: Connection<Channel, Channel>,
    ping: Option<Boxed<'static, Result<(), Error>>>,
    watchdog: Watchdog,
}

/// Returns `None` once the store is closed and all requests are answered. An error is the answer to all requests in
/// flight.
pub(crate) async fn serve(
    pipeline: &Pipeline,
    events: &dyn Events,
    ready: Ready,
    queries: Queries,
) -> Option<StoreError> {
    let told = ready
        .listener
        .as_ref()
        .unwrap_or(&ready.requests)
        .told
        .iter();
    for payload in told {
        hear(events, payload);
    }
    let lease = pipeline.connector.options.lease();
    let mut link = Link {
        pipeline,
        events,
        client: ready.requests.client,
        connection: ready.requests.connection,
        queries,
        listener: ready.listener.map(|session| Listener {
            client: session.client,
            connection: session.connection,
            ping: None,
            watchdog: Watchdog::new(lease, Duration::ZERO),
        }),
        coming: VecDeque::new(),
        flying: VecDeque::new(),
        watchdog: Watchdog::new(lease, Duration::ZERO),
        wrote: false,
        term: store::Instant::now().after(TERM),
        beat: Box::pin(sleep(BEAT)),
        // The first question, before all requests, makes the mailbox.
        mail: pipeline
            .connector
            .poll()
            .map(|_| Box::pin(sleep(Duration::ZERO))),
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
            self.ask_for_mail(cx);
            let room = MOST.saturating_sub(self.flying.len());
            let closed = self.pipeline.take(cx, room, &mut self.coming);
            let sent = !self.coming.is_empty();
            self.send(cx);
            let heard = self.hear(cx)?;
            let landed = self.land(cx)?;
            if closed && !sent && self.flying.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if !sent && !heard && !landed {
                return Poll::Pending;
            }
        }
    }

    fn ask_for_mail(&mut self, cx: &mut Context<'_>) {
        let is_due = |mail: &mut Pin<Box<Sleep>>| {
            mail.deadline() <= Instant::now() || mail.as_mut().poll(cx).is_ready()
        };
        if self.mail.take_if(is_due).is_some() {
            let call = Call::read_mail(self.pipeline.connector.member);
            let run = Box::pin(self.queries.run(&self.client, call));
            self.start(cx, Flight::Mail(run));
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        let connector = &self.pipeline.connector;
        let caller = Caller {
            member: connector.member,
            opens: self.pipeline.opens(),
        };
        while let Some(request) = self.coming.pop_front() {
            let call = Call::of(&request.name, &request.op, caller);
            let function = call.function;
            let run = Box::pin(self.queries.run(&self.client, call));
            self.start(cx, Flight::Request(request, function, run));
        }
    }

    /// The first poll of a future sends its query. Its answer comes after those of the earlier ones.
    fn start(&mut self, cx: &mut Context<'_>, mut flight: Flight) {
        let _ = match &mut flight {
            Flight::Request(.., run) | Flight::Mail(run) => run.as_mut().poll(cx).map(drop),
            Flight::Term(run) => run.as_mut().poll(cx).map(drop),
            Flight::Ping(run) => run.as_mut().poll(cx).map(drop),
        };
        self.wrote = true;
        self.flying.push_back(flight);
    }

    /// Reads and writes. Returns whether something was read that is not an answer.
    fn hear(&mut self, cx: &mut Context<'_>) -> Result<bool, StoreError> {
        let mut heard = false;
        let listens = self.listener.is_none();
        while let Some(message) = next(&mut self.connection, cx)? {
            if let AsyncMessage::Notification(message) = message
                && listens
            {
                hear(self.events, message.payload());
                heard = true;
            }
            self.watchdog.heard();
        }
        if let Some(listener) = &mut self.listener {
            while let Some(message) = next(&mut listener.connection, cx)? {
                if let AsyncMessage::Notification(message) = message {
                    hear(self.events, message.payload());
                    heard = true;
                }
                listener.watchdog.heard();
            }
            if let Some(ping) = &mut listener.ping
                && let Poll::Ready(answer) = ping.as_mut().poll(cx)
            {
                answer.map_err(|error| error::of(&error))?;
                listener.ping = None;
                listener.watchdog.answered();
            }
        }
        Ok(heard)
    }

    /// Passes the answers on that have arrived. An error ends the connection.
    fn land(&mut self, cx: &mut Context<'_>) -> Result<bool, StoreError> {
        let mut landed = false;
        while let Some(first) = self.flying.front_mut() {
            let result = match first {
                Flight::Request(_, function, run) => match run.as_mut().poll(cx) {
                    Poll::Ready(answer) => {
                        let function = *function;
                        let answer = answer.map_err(|error| error::of(&error));
                        self.answer(answer.and_then(|rows| reply::parse(function, &rows)))
                    }
                    Poll::Pending => return Ok(landed),
                },
                Flight::Mail(run) => match run.as_mut().poll(cx) {
                    Poll::Ready(mail) => {
                        self.flying.pop_front();
                        let pause = self.pipeline.connector.poll().unwrap_or(BEAT);
                        self.mail = Some(Box::pin(sleep(pause)));
                        self.read(mail)
                    }
                    Poll::Pending => return Ok(landed),
                },
                Flight::Term(run) => match run.as_mut().poll(cx) {
                    Poll::Ready(term) => {
                        self.flying.pop_front();
                        self.term_is(term)
                    }
                    Poll::Pending => return Ok(landed),
                },
                Flight::Ping(run) => match run.as_mut().poll(cx) {
                    Poll::Ready(answer) => {
                        self.flying.pop_front();
                        answer.map_err(|error| error::of(&error))
                    }
                    Poll::Pending => return Ok(landed),
                },
            };
            landed = true;
            self.watchdog.answered();
            result?;
        }
        Ok(landed)
    }

    fn answer(&mut self, result: Result<Reply, StoreError>) -> Result<(), StoreError> {
        let Some(Flight::Request(request, ..)) = self.flying.pop_front() else {
            return Ok(());
        };
        let outlives = match &result {
            Err(error) if error.is_disconnected() => Err(error.clone()),
            _ => Ok(()),
        };
        self.events.answered(Answer { request, result });
        outlives
    }

    fn read(&self, mail: Result<Vec<Row>, Error>) -> Result<(), StoreError> {
        match mail.map_err(|error| error::of(&error)) {
            Ok(rows) => reply::messages(&rows)?
                .into_iter()
                .for_each(|message| hear(self.events, message)),
            Err(error) if error.is_disconnected() => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    fn term_is(&self, term: Result<Term, Error>) -> Result<(), StoreError> {
        let term = match term {
            Ok(term) => term,
            Err(error) => {
                let error = error::of(&error);
                return match error.kind() {
                    StoreErrorKind::Busy => Ok(()),
                    _ => Err(error),
                };
            }
        };
        let closed = self.pipeline.term_is(term)?;
        if closed.is_some() {
            self.events
                .node_changed(Node::ONLY, NodeChange::Closed(closed));
        }
        Ok(())
    }

    fn beat(&mut self, cx: &mut Context<'_>) -> Result<(), StoreError> {
        let now = store::Instant::now();
        if self.term <= now {
            self.term = now.after(TERM);
            self.watchdog.forget();
            let client = self.client.clone();
            let longest = self.pipeline.connector.options.longest_lease;
            let asked = Box::pin(async move { Term::ask(&client, longest).await });
            self.start(cx, Flight::Term(asked));
            let client = self.client.clone();
            // Whatever goes wrong there, another client tries in a minute.
            let tidied = async move {
                let _ = client.query_typed(TIDY, &[]).await;
                Ok(())
            };
            self.start(cx, Flight::Ping(Box::pin(tidied)));
        }
        let wrote = std::mem::take(&mut self.wrote);
        if self.watchdog.beat(wrote, self.flying.is_empty())? {
            let ping = ping(self.client.clone());
            self.start(cx, Flight::Ping(ping));
        }
        if let Some(listener) = &mut self.listener
            && listener.watchdog.beat(false, listener.ping.is_none())?
        {
            let mut asked = ping(listener.client.clone());
            let _ = asked.as_mut().poll(cx);
            listener.ping = Some(asked);
        }
        Ok(())
    }

    fn lose(&mut self, error: &StoreError) {
        let unsent = self.pipeline.disconnect(error);
        for flight in std::mem::take(&mut self.flying) {
            if let Flight::Request(request, ..) = flight {
                self.events.answered(request.failed(error.clone()));
            }
        }
        for request in std::mem::take(&mut self.coming).into_iter().chain(unsent) {
            self.events.answered(request.failed(error.clone()));
        }
    }
}

fn ping(client: Arc<Client>) -> Boxed<'static, Result<(), Error>> {
    Box::pin(async move { client.batch_execute("").await })
}

/// The next message that is not an answer. Answers go to their futures.
fn next(
    connection: &mut Connection<Channel, Channel>,
    cx: &mut Context<'_>,
) -> Result<Option<AsyncMessage>, StoreError> {
    match connection.poll_message(cx) {
        Poll::Pending => Ok(None),
        Poll::Ready(Some(Ok(message))) => Ok(Some(message)),
        Poll::Ready(Some(Err(error))) => Err(error::of(&error)),
        Poll::Ready(None) => Err(StoreError::disconnected("the server closed the connection")),
    }
}

fn hear(events: &dyn Events, payload: &str) {
    if let Some((name, message)) = Message::parse(&stored(payload)) {
        events.told(&name, message);
    }
}
