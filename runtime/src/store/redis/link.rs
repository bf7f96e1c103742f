//! [`Link`]: requests, replies and messages on one connection, until it is lost.
//!
//! What has piled up is written as one pipeline; several may be under way. Replies come in the order of the
//! requests, so only the first pipeline is looked at.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, PushInfo, RedisError, Value};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::unconstrained;
use tokio::time::{Sleep, sleep};

use super::command::Way;
use super::detours::Detours;
use super::message::Push;
use super::scripts::Scripts;
use super::{command, error, message, reply};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Answer, Events, MemberId, Request};

/// How many pipelines are under way at most, and how many requests are in one.
pub(super) const FLIGHTS: usize = 32;
const BATCH: usize = 256;
/// The watchdog's beat. Beats are counted instead of time: a process that was stopped must not take its own
/// sleep for the server's silence.
const BEAT: Duration = Duration::from_millis(500);
/// Beats without an answer after which the connection is given up: two seconds.
const PATIENCE: u32 = 4;
/// Beats without a word after which the server is asked for one: three seconds.
const IDLE: u32 = 6;
/// How often the scripts are loaded again for one request.
const RELOADS: u32 = 3;

/// A request, and how often its scripts had to be loaded again.
#[derive(Debug)]
struct Sending {
    request: Request,
    way: Way,
    reloads: u32,
}

/// A pipeline under way.
struct Flight {
    replies: Pin<Box<dyn Future<Output = Result<Vec<Value>, RedisError>> + Send>>,
    /// How many replies come before those of the requests.
    prefix: usize,
    sendings: Vec<Sending>,
    beats: u32,
}

pub(super) struct Link {
    connection: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
    flights: VecDeque<Flight>,
    /// The server lost the scripts: these are written again, in order, when nothing is under way any more.
    again: Vec<Sending>,
    detours: Detours,
    /// Beats since something was written.
    idle: u32,
}

/// What to do next.
enum Next {
    Landed(Flight, Result<Vec<Value>, RedisError>),
    Pushed(PushInfo),
    Reload,
    Submitted(Vec<Request>),
    Beat,
    /// The connection is gone.
    Ended,
    /// The store is closed and everything is answered.
    Done,
}

/// Who uses a link, and what for.
pub(super) struct Service<'a> {
    pub(super) scripts: &'a Arc<Scripts>,
    pub(super) member: MemberId,
    pub(super) events: &'a dyn Events,
    pub(super) requests: &'a mut UnboundedReceiver<Request>,
}

impl Link {
    pub(super) fn new(
        connection: MultiplexedConnection,
        pushes: UnboundedReceiver<PushInfo>,
    ) -> Self {
        Self {
            connection,
            pushes,
            flights: VecDeque::new(),
            again: Vec::new(),
            detours: Detours::default(),
            idle: 0,
        }
    }

    /// Writes a pipeline and waits for its replies; an error of one command is its reply.
    pub(super) async fn exchange(&mut self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        self.connection
            .send_packed_commands(pipeline, 0, pipeline.len())
            .await
    }

    /// Returns when the server has confirmed.
    pub(super) async fn subscribe(&mut self, channel: &str) -> Result<(), RedisError> {
        self.connection.subscribe(channel).await
    }

    /// Forgets the messages so far.
    pub(super) fn drain(&mut self) {
        while self.pushes.try_recv().is_ok() {}
    }

    /// Serves until the store is closed (`None`) or the connection is lost. What is under way is answered
    /// before it returns; what is still to be taken from `service.requests` is not.
    pub(super) async fn serve(mut self, service: &mut Service<'_>) -> Option<StoreError> {
        let mut beat = Box::pin(sleep(BEAT));
        let mut closed = false;
        let lost = loop {
            let next = poll_fn(|cx| self.poll(cx, service.requests, &mut closed, beat.as_mut()));
            let result = match next.await {
                Next::Landed(flight, Ok(values)) => self.land(service, flight, values),
                Next::Landed(flight, Err(error)) => {
                    self.flights.push_front(flight);
                    Err(error::of_client(&error))
                }
                Next::Pushed(push) => tell(service, &push),
                Next::Reload => {
                    self.reload(service);
                    Ok(())
                }
                Next::Submitted(requests) => {
                    self.write(service, requests);
                    Ok(())
                }
                Next::Beat => {
                    beat.set(sleep(BEAT));
                    self.beat()
                }
                Next::Ended => Err(StoreError::disconnected("the server closed the connection")),
                Next::Done => return None,
            };
            if let Err(error) = result {
                break error;
            }
        };
        let lost = StoreError::disconnected(lost.to_string());
        let flying = self.flights.drain(..).flat_map(|flight| flight.sendings);
        // Those to be written again were written before all that are under way.
        for sending in self.again.drain(..).chain(flying) {
            answer(service, sending, Err(lost.clone()));
        }
        (!closed).then_some(lost)
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        requests: &mut UnboundedReceiver<Request>,
        closed: &mut bool,
        beat: Pin<&mut Sleep>,
    ) -> Poll<Next> {
        if let Some(first) = self.flights.front_mut()
            && let Poll::Ready(result) = first.replies.as_mut().poll(cx)
            && let Some(flight) = self.flights.pop_front()
        {
            return Poll::Ready(Next::Landed(flight, result));
        }
        if let Poll::Ready(push) = self.pushes.poll_recv(cx) {
            return Poll::Ready(push.map_or(Next::Ended, Next::Pushed));
        }
        if !self.again.is_empty() {
            if self.flights.is_empty() {
                return Poll::Ready(Next::Reload);
            }
        } else if *closed {
            if self.flights.is_empty() {
                return Poll::Ready(Next::Done);
            }
        } else if self.flights.len() < FLIGHTS {
            let mut batch = Vec::new();
            if let Poll::Ready(count) = requests.poll_recv_many(cx, &mut batch, BATCH) {
                if count > 0 {
                    return Poll::Ready(Next::Submitted(batch));
                }
                *closed = true;
                if self.flights.is_empty() {
                    return Poll::Ready(Next::Done);
                }
            }
        }
        beat.poll(cx).map(|()| Next::Beat)
    }

    fn write(&mut self, service: &Service<'_>, requests: Vec<Request>) {
        let detours = &mut self.detours;
        let sending = |request: Request| Sending {
            way: detours.way(&request),
            request,
            reloads: 0,
        };
        let sendings = requests.into_iter().map(sending).collect();
        self.fly(service, Pipeline::new(), sendings);
    }

    fn reload(&mut self, service: &Service<'_>) {
        let mut pipeline = Pipeline::new();
        for text in service.scripts.texts() {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(text);
        }
        let sendings = std::mem::take(&mut self.again);
        self.fly(service, pipeline, sendings);
    }

    /// Writes `pipeline` and the requests after it.
    fn fly(&mut self, service: &Service<'_>, mut pipeline: Pipeline, sendings: Vec<Sending>) {
        let prefix = pipeline.len();
        for Sending { request, way, .. } in &sendings {
            let name = &request.name;
            pipeline.add_command(command::evaluate(
                service.scripts,
                service.member,
                name,
                &request.op,
                *way,
            ));
        }
        let mut connection = self.connection.clone();
        let exchange = async move {
            let count = pipeline.len();
            connection.send_packed_commands(&pipeline, 0, count).await
        };
        let mut flight = Flight {
            // Without a budget of the executor: the first poll always hands the bytes over, so that pipelines
            // are written in this order.
            replies: Box::pin(unconstrained(exchange)),
            prefix,
            sendings,
            beats: 0,
        };
        self.idle = 0;
        let mut unwoken = Context::from_waker(std::task::Waker::noop());
        if let Poll::Ready(result) = flight.replies.as_mut().poll(&mut unwoken) {
            // The connection is gone already: told in turn.
            flight.replies = Box::pin(std::future::ready(result));
        }
        self.flights.push_back(flight);
    }

    /// The replies of a pipeline. Errors end the connection.
    fn land(
        &mut self,
        service: &Service<'_>,
        flight: Flight,
        values: Vec<Value>,
    ) -> Result<(), StoreError> {
        let mut result = Ok(());
        let mut values = values.into_iter();
        for value in values.by_ref().take(flight.prefix) {
            if let Value::ServerError(error) = &value {
                // Mostly about SCRIPT LOAD: the requests behind it will tell whether that matters.
                tracing::debug!(code = error.code(), "the lock store refused a command");
                if error::ends_connection(error) {
                    result = Err(error::of_server(error));
                }
            }
        }
        for mut sending in flight.sendings {
            // Fewer replies than requests cannot be; and if they were, that would be no reply.
            let value = values.next().unwrap_or(Value::Nil);
            let no_script = reply::is_no_script(&value);
            let undone = sending.way == Way::Short && reply::is_undone(&value);
            if undone {
                self.detours.note(&sending.request);
                sending.way = Way::Long;
            }
            if undone || no_script && sending.reloads < RELOADS || self.follows(&sending) {
                self.again.push(Sending {
                    reloads: sending.reloads + u32::from(no_script),
                    ..sending
                });
                continue;
            }
            if let Value::ServerError(error) = &value
                && error::ends_connection(error)
            {
                result = Err(error::of_server(error));
            }
            let result = reply::parse(value, &sending.request.op);
            answer(service, sending, result);
        }
        result
    }

    /// Whether an earlier request of the same ticket is to be written again: then this one is too, although it
    /// was executed, so that the last one has the last word. (Every operation may run twice.)
    fn follows(&self, sending: &Sending) -> bool {
        let ticket = sending.request.op.ticket();
        ticket.is_some()
            && self
                .again
                .iter()
                .any(|earlier| earlier.request.op.ticket() == ticket)
    }

    fn beat(&mut self) -> Result<(), StoreError> {
        self.idle += 1;
        if let Some(first) = self.flights.front_mut() {
            first.beats += 1;
            if first.beats > PATIENCE {
                return Err(StoreError::disconnected("the server does not answer"));
            }
        } else if self.idle >= IDLE {
            let mut connection = self.connection.clone();
            let ping = async move {
                let reply = connection.send_packed_command(&redis::cmd("PING")).await;
                reply.map(|value| vec![value])
            };
            self.idle = 0;
            self.flights.push_back(Flight {
                replies: Box::pin(unconstrained(ping)),
                prefix: 1,
                sendings: Vec::new(),
                beats: 0,
            });
        }
        Ok(())
    }
}

fn tell(service: &Service<'_>, push: &PushInfo) -> Result<(), StoreError> {
    match message::read(push) {
        Push::Told(name, message) => service.events.told(&name, message),
        Push::Ended => {
            return Err(StoreError::disconnected("the server closed the connection"));
        }
        Push::Nothing => {}
    }
    Ok(())
}

fn answer(
    service: &Service<'_>,
    sending: Sending,
    result: Result<crate::store::Reply, StoreError>,
) {
    let result = result.map_err(|error| match error.kind() {
        // Written again too often.
        StoreErrorKind::Refused if error.to_string().starts_with("NOSCRIPT") => StoreError::new(
            StoreErrorKind::Refused,
            "the server forgets the scripts as soon as they are loaded",
        ),
        _ => error,
    });
    service.events.answered(Answer {
        request: sending.request,
        result,
    });
}
