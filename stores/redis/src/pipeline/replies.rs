//! Expected replies, and what a [`Link`] does with those that arrive: it answers requests, or sends them again.

use std::net::Shutdown;
use std::sync::atomic::Ordering;

use auto_mutex_seam::store::{
    Answer, Name, Node, NodeChange, Op, Reply, Request, STORE, StoreErrorKind, lock, tell,
};
use auto_mutex_seam::{StoreError, store};

use super::link::Link;
use crate::connect::facts::{self, Facts};
use crate::error::{self, Code};
use crate::login::error::accepted;
use crate::script::reply;
use crate::wire::Value;

const RELOADS: u32 = 3;

pub(super) enum Awaited {
    /// The command of this request may have others too, which follow.
    Request(Sending),
    Epoch(usize),
    /// One answer to [`Facts::question`](crate::connect::facts::Facts::question).
    Fact,
    ShardChannel(String),
    /// SCRIPT LOAD, ASKING or PING, whose replies change nothing.
    Unimportant,
    Auth,
}

/// What a request begins among the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    Command,
    /// The next name in the same command.
    Name,
    /// Nothing: it is the second operation on the same name.
    Nothing,
}

pub(super) struct Sending {
    pub(super) request: Request,
    pub(super) begins: Begins,
    /// Whether another node redirected the request here with ASK, because this node is importing the slot.
    pub(super) asking: bool,
    reloads: u32,
    /// The reply to the first run, if the request is sent again because an earlier one must run before it.
    pub(super) before: Option<Box<Reply>>,
}

impl Sending {
    pub(super) fn new(request: Request) -> Self {
        Self {
            request,
            begins: Begins::Command,
            asking: false,
            reloads: 0,
            before: None,
        }
    }

    pub(super) fn again(&mut self, reply: &Value<'_>) -> bool {
        let lost = matches!(reply, Value::Error(error) if Code::of(error) == Code::NoScript);
        let again = lost && self.reloads < RELOADS;
        self.reloads += u32::from(again);
        again
    }

    /// The answer for the member. If a release ran twice, it is that of the first run, because the second finds no
    /// ticket.
    pub(super) fn told(&mut self, result: Result<Reply, StoreError>) -> Result<Reply, StoreError> {
        match self.before.take().map(|before| *before) {
            Some(before @ (Reply::Released { .. } | Reply::Cancelled))
                if matches!(result, Ok(Reply::Gone)) =>
            {
                Ok(before)
            }
            _ => result,
        }
    }
}

impl Link<'_> {
    pub(super) fn land(&mut self, value: Value<'_>) -> Result<(), StoreError> {
        self.pipeline.refill(&mut self.awaited);
        if let Some(Awaited::Request(_)) = self.awaited.front() {
            return self.land_all(value);
        }
        let Some(awaited) = self.awaited.pop_front() else {
            let text = "the server sent a reply to no request";
            return Err(StoreError::disconnected(text));
        };
        self.pipeline.under_way.fetch_sub(1, Ordering::Relaxed);
        let value = &value;
        let mut result = outlives(value);
        match awaited {
            Awaited::Request(_) => {}
            Awaited::Epoch(key) => match self.pipeline.epoch_is(key, value) {
                Ok(Some(closed)) => {
                    let change = NodeChange::Closed(Some(closed));
                    self.events.node_changed(Node::ONLY, change);
                }
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            },
            Awaited::Fact => {
                self.facts.push(facts::text(value));
                let lag = lock(&self.pipeline.state).epoch.lag;
                let facts = Facts::of(&mut self.facts, lag);
                if let Some(facts) = facts.filter(Facts::are_definite) {
                    self.pipeline.connector.note_facts(facts);
                }
            }
            Awaited::ShardChannel(channel) => {
                if let Value::Error(error) = value {
                    let code = Code::of(error);
                    self.pipeline.lost_shard_channel(&channel, Some(code));
                }
            }
            Awaited::Auth => self.renewal.answered(accepted(value)),
            Awaited::Unimportant => {
                if let Value::Error(error) = value {
                    // Usually an error of SCRIPT LOAD. If it matters, later replies are errors too.
                    let code = error.code.to_string();
                    tell(
                        move || tracing::debug!(target: STORE, %code, "the lock store refused a command"),
                    );
                }
            }
        }
        result
    }

    /// Answers all requests of one command.
    fn land_all(&mut self, value: Value<'_>) -> Result<(), StoreError> {
        let more = self.awaited.iter().skip(1).map_while(|next| match next {
            Awaited::Request(next) if next.begins != Begins::Command => Some(next.begins),
            _ => None,
        });
        match 1 + more.filter(|begins| *begins == Begins::Name).count() {
            1 => self.land_name(value),
            names => store::together(|| {
                let mut result = Ok(());
                for value in reply::of_names(value, names) {
                    result = result.and(self.land_name(value));
                }
                result
            }),
        }
    }

    fn land_name(&mut self, value: Value<'_>) -> Result<(), StoreError> {
        let result = outlives(&value);
        let Some(first) = self.next_request() else {
            return result;
        };
        let joins = matches!(self.awaited.front(), Some(Awaited::Request(next)) if next.begins == Begins::Nothing);
        match joins.then(|| self.next_request()).flatten() {
            None => self.answer(first, &value),
            Some(second) => {
                let [to_first, to_second] = reply::of_both(value, &second.request.op);
                self.answer(first, &to_first);
                self.answer(second, &to_second);
            }
        }
        result
    }

    fn next_request(&mut self) -> Option<Sending> {
        match self.awaited.pop_front() {
            Some(Awaited::Request(next)) => {
                self.pipeline.under_way.fetch_sub(1, Ordering::Relaxed);
                Some(next)
            }
            _ => None,
        }
    }

    /// Returns whether the push is the reply to a subscription.
    pub(super) fn confirm(&mut self, words: &[Value<'_>]) -> bool {
        let [Value::Text(kind), Value::Text(channel), ..] = words else {
            return false;
        };
        match *kind {
            b"ssubscribe" => {
                self.pipeline.refill(&mut self.awaited);
                let asked = matches!(self.awaited.front(), Some(Awaited::ShardChannel(asked)) if asked.as_bytes() == *channel);
                if asked {
                    self.awaited.pop_front();
                    self.pipeline.under_way.fetch_sub(1, Ordering::Relaxed);
                }
                asked
            }
            b"sunsubscribe" => {
                if let Ok(channel) = std::str::from_utf8(channel) {
                    self.pipeline.lost_shard_channel(channel, None);
                }
                false
            }
            _ => false,
        }
    }

    fn answer(&mut self, mut sending: Sending, value: &Value<'_>) {
        if !sending.again(value) {
            let result = reply::parse(value, &sending.request.op);
            if !self.follows(&sending, &result) {
                let result = sending.told(result);
                if matches!(sending.request.op, Op::Acquire { .. })
                    && matches!(result, Ok(Reply::Queued { .. }))
                {
                    self.queued(&sending.request.name);
                }
                self.tell(sending, result);
                return;
            }
            sending.before = result.ok().map(Box::new);
        }
        if self.again.is_empty() {
            lock(&self.pipeline.state).held = true;
        }
        self.again.push(sending);
    }

    /// Whether an executed request must run again because an earlier one will: the last request of a ticket must run
    /// last, and a reply with the name's state must show the earlier request's effect.
    fn follows(&self, sending: &Sending, result: &Result<Reply, StoreError>) -> bool {
        let request = &sending.request;
        let looked = matches!(
            result,
            Ok(Reply::Busy { .. } | Reply::Kept { .. } | Reply::InUse { .. } | Reply::Info(_))
        );
        let ticket = request.op.ticket();
        self.again.iter().any(|earlier| {
            let earlier = &earlier.request;
            ticket.is_some() && earlier.op.ticket() == ticket
                || looked && earlier.name == request.name
        })
    }

    pub(super) fn write_again(&mut self) {
        if self.again.is_empty() || !self.pipeline.is_quiet() {
            return;
        }
        let mut state = lock(&self.pipeline.state);
        self.pipeline.load_scripts(&mut state);
        for sending in self.again.drain(..) {
            self.pipeline.append(&mut state, sending);
        }
        state.held = false;
    }

    fn queued(&self, name: &Name) {
        let connector = &self.pipeline.connector;
        if connector.scripts.are_of_cluster() {
            let mut state = lock(&self.pipeline.state);
            if let Some(channel) = state.shard_channels.queued(name, connector.member) {
                self.pipeline.subscribe(&mut state, channel);
            }
        }
    }

    pub(super) fn lose(mut self, error: &StoreError) {
        let mut state = lock(&self.pipeline.state);
        state.down = Some(error.clone());
        // Another thread may be writing now, and must not continue on this connection.
        if let Some(stream) = &state.out.stream {
            stream.close(Shutdown::Both);
        }
        state.out.open(None);
        state.due = true;
        state.held = false;
        self.awaited.append(&mut state.awaited);
        (state.open, state.names) = (0, 0);
        self.pipeline.under_way.store(0, Ordering::Relaxed);
        drop(state);
        // The requests in `again` are older than all requests in flight.
        let awaited = std::mem::take(&mut self.awaited).into_iter();
        let awaited = awaited.filter_map(|awaited| match awaited {
            Awaited::Request(sending) => Some(sending),
            _ => None,
        });
        for sending in std::mem::take(&mut self.again).into_iter().chain(awaited) {
            self.tell(sending, Err(error.clone()));
        }
    }

    fn tell(&self, sending: Sending, result: Result<Reply, StoreError>) {
        let result = result.map_err(|error| match error.kind() {
            // The request was resent as often as allowed, and the server still had no script.
            StoreErrorKind::Refused if Code::of_error(&error) == Code::NoScript => StoreError::new(
                StoreErrorKind::Refused,
                "the server forgets the scripts as soon as they are loaded",
            ),
            _ => error,
        });
        self.events.answered(Answer {
            request: sending.request,
            result,
        });
    }
}

/// An error if the connection must end after this reply.
fn outlives(value: &Value<'_>) -> Result<(), StoreError> {
    match value {
        Value::Error(error) if Code::of(error).ends_connection() => Err(error::of_server(error)),
        _ => Ok(()),
    }
}
