//! [`Wire`]: a connection with its queries in flight. The server answers them in the order in which they were sent.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Boxed, Events, Request, Watchdog, parse_message};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Row};

use crate::call::stored;
use crate::error;
use crate::session::Session;
use crate::socket::Channel;

/// What an answer is for.
pub(crate) enum Use {
    /// With the function that was called.
    Request(Request, &'static str),
    Mail,
    Term,
    /// Only to see whether the server is there.
    Nothing,
}

type Run = Boxed<'static, Result<Vec<Row>, Error>>;

pub(crate) struct Wire {
    pub(crate) client: Arc<Client>,
    connection: Connection<Channel, Channel>,
    flying: VecDeque<(Use, Run)>,
    pub(crate) watchdog: Watchdog,
    /// Whether something was sent since the last beat.
    wrote: bool,
}

impl Wire {
    pub(crate) fn of(session: Session, lease: Duration) -> Self {
        Self {
            client: session.client,
            connection: session.connection,
            flying: VecDeque::new(),
            watchdog: Watchdog::new(lease, Duration::ZERO),
            wrote: false,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// The first poll of a future sends its query.
    pub(crate) fn start(&mut self, cx: &mut Context<'_>, purpose: Use, mut run: Run) {
        if let Poll::Ready(answer) = run.as_mut().poll(cx) {
            run = Box::pin(ready(answer));
        }
        self.wrote = true;
        self.flying.push_back((purpose, run));
    }

    /// Reads and writes. Returns whether a message has arrived. Answers go to their futures.
    pub(crate) fn hear(
        &mut self,
        cx: &mut Context<'_>,
        events: &dyn Events,
    ) -> Result<bool, StoreError> {
        let mut heard = false;
        loop {
            match self.connection.poll_message(cx) {
                Poll::Pending => return Ok(heard),
                Poll::Ready(Some(Ok(message))) => {
                    if let AsyncMessage::Notification(message) = message {
                        tell(events, message.payload());
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

    /// The next answer, if it has arrived.
    pub(crate) fn land(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Option<(Use, Result<Vec<Row>, StoreError>)> {
        let (_, run) = self.flying.front_mut()?;
        let Poll::Ready(answer) = run.as_mut().poll(cx) else {
            return None;
        };
        self.watchdog.answered();
        let (purpose, _) = self.flying.pop_front()?;
        Some((purpose, answer.map_err(|error| error::of(&error))))
    }

    pub(crate) fn beat(&mut self, cx: &mut Context<'_>) -> Result<(), StoreError> {
        let wrote = std::mem::take(&mut self.wrote);
        if self.watchdog.beat(wrote, self.flying.is_empty())? {
            let client = self.client.clone();
            let ping = async move { client.batch_execute("").await.map(|()| Vec::new()) };
            self.start(cx, Use::Nothing, Box::pin(ping));
        }
        Ok(())
    }

    /// The requests without an answer.
    pub(crate) fn lose(&mut self) -> impl Iterator<Item = Request> {
        let flying = std::mem::take(&mut self.flying).into_iter();
        flying.filter_map(|(purpose, _)| match purpose {
            Use::Request(request, _) => Some(request),
            _ => None,
        })
    }
}

pub(crate) fn tell(events: &dyn Events, payload: &str) {
    if let Some((name, message)) = parse_message(&stored(payload)) {
        events.told(&name, message);
    }
}
