//! [`Pending`]: the requests that wait for a reply, and those that must be written again.

use std::collections::VecDeque;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Answer, Events, Node, Op, Reply, StoreErrorKind, tell};

use super::connect::error::accepted;
use super::error::{self, Code};
use super::pipeline::Pipeline;
use super::reply;
use super::sending::{Awaited, Sending};
use crate::wire::Value;

#[derive(Debug, Default)]
pub(super) struct Pending {
    awaited: VecDeque<Awaited>,
    /// Requests that are written again, in order, once no reply is outstanding.
    again: Vec<Sending>,
    authenticated: Option<Result<(), StoreError>>,
}

impl Pending {
    /// Handles a reply. Some errors end the connection.
    pub(super) fn land(
        &mut self,
        pipeline: &Pipeline,
        events: &dyn Events,
        value: &Value<'_>,
    ) -> Result<(), StoreError> {
        pipeline.refill(&mut self.awaited);
        let Some(awaited) = self.awaited.pop_front() else {
            let text = "the server answered what nobody asked";
            return Err(StoreError::disconnected(text));
        };
        pipeline.replied();
        let mut result = Ok(());
        if let Value::Error(error) = value
            && Code::of(error).ends_connection()
        {
            result = Err(error::of_server(error));
        }
        match awaited {
            Awaited::Request(sending) => self.answer(pipeline, events, sending, value),
            Awaited::Both([first, second]) => {
                let [to_first, to_second] = reply::of_both(value.clone(), &second.request.op);
                self.answer(pipeline, events, first, &to_first);
                self.answer(pipeline, events, second, &to_second);
            }
            Awaited::Term(key) => match pipeline.term_is(key, value) {
                Ok(Some(closing)) => events.closed(Node::ONLY, Some(closing)),
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            },
            Awaited::ShardChannel(channel) => {
                if let Value::Error(error) = value {
                    pipeline.lost_shard_channel(&channel, Some(Code::of(error)));
                }
            }
            Awaited::Auth => {
                self.authenticated = Some(accepted(value));
            }
            Awaited::Unimportant => {
                if let Value::Error(error) = value {
                    // This is mostly an error of SCRIPT LOAD. If it matters, the replies to later requests are errors too.
                    let code = error.code.to_string();
                    tell(move || tracing::debug!(%code, "the lock store refused a command"));
                }
            }
        }
        result
    }

    /// Handles a push about a shard channel. Returns whether it's the reply to a subscription.
    pub(super) fn confirm(&mut self, pipeline: &Pipeline, words: &[Value<'_>]) -> bool {
        let [Value::Text(kind), Value::Text(channel), ..] = words else {
            return false;
        };
        match *kind {
            b"ssubscribe" => {
                pipeline.refill(&mut self.awaited);
                let asked = matches!(self.awaited.front(), Some(Awaited::ShardChannel(asked)) if asked.as_bytes() == *channel);
                if asked {
                    self.awaited.pop_front();
                    pipeline.replied();
                }
                asked
            }
            b"sunsubscribe" => {
                if let Ok(channel) = std::str::from_utf8(channel) {
                    pipeline.lost_shard_channel(channel, None);
                }
                false
            }
            _ => false,
        }
    }

    fn answer(
        &mut self,
        pipeline: &Pipeline,
        events: &dyn Events,
        mut sending: Sending,
        value: &Value<'_>,
    ) {
        if !sending.again(value) {
            let result = reply::parse(value, &sending.request.op);
            if !self.follows(&sending, &result) {
                let result = sending.told(result);
                if matches!(sending.request.op, Op::Acquire { .. })
                    && matches!(result, Ok(Reply::Queued { .. }))
                {
                    pipeline.queued(&sending.request.name);
                }
                answer(events, sending, result);
                return;
            }
            sending.before = result.ok().map(Box::new);
        }
        if self.again.is_empty() {
            pipeline.hold();
        }
        self.again.push(sending);
    }

    /// Whether an executed request must run again after an earlier one that will: a ticket's last request must run
    /// last, and a reply that shows the state of the name must show what the earlier request did. Every operation may
    /// run twice.
    fn follows(&self, sending: &Sending, result: &Result<Reply, StoreError>) -> bool {
        let request = &sending.request;
        let looked = matches!(
            result,
            Ok(Reply::Busy { .. } | Reply::InUse { .. } | Reply::Info(_))
        );
        let ticket = request.op.ticket();
        self.again.iter().any(|earlier| {
            let earlier = &earlier.request;
            ticket.is_some() && earlier.op.ticket() == ticket
                || looked && earlier.name == request.name
        })
    }

    pub(super) fn authenticated(&mut self) -> Option<Result<(), StoreError>> {
        self.authenticated.take()
    }

    pub(super) fn write_again(&mut self, pipeline: &Pipeline) {
        if !self.again.is_empty() && pipeline.is_quiet() {
            pipeline.write_again(&mut self.again);
        }
    }

    pub(super) fn lose(&mut self, pipeline: &Pipeline, events: &dyn Events, error: &StoreError) {
        pipeline.disconnect(&mut self.awaited, error);
        // The requests in `again` are older than all requests in flight.
        for sending in self.again.drain(..) {
            answer(events, sending, Err(error.clone()));
        }
        for awaited in self.awaited.drain(..) {
            match awaited {
                Awaited::Request(sending) => answer(events, sending, Err(error.clone())),
                Awaited::Both(both) => {
                    for sending in both {
                        answer(events, sending, Err(error.clone()));
                    }
                }
                Awaited::Term(_)
                | Awaited::ShardChannel(_)
                | Awaited::Unimportant
                | Awaited::Auth => {}
            }
        }
    }
}

fn answer(events: &dyn Events, sending: Sending, result: Result<Reply, StoreError>) {
    let result = result.map_err(|error| match error.kind() {
        // The request was written again as often as is allowed, and the server still had no script.
        StoreErrorKind::Refused if Code::of_error(&error) == Code::NoScript => StoreError::new(
            StoreErrorKind::Refused,
            "the server forgets the scripts as soon as they are loaded",
        ),
        _ => error,
    });
    events.answered(Answer {
        request: sending.request,
        result,
    });
}
