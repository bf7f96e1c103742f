//! Requests that wait for a reply, and when a request is written again.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Reply, Request};

use super::error::Code;
use crate::wire::Value;

const RELOADS: u32 = 3;

/// A reply that the server has not sent yet. Replies come in the order in which the requests were written.
#[derive(Debug)]
pub(super) enum Awaited {
    Request(Sending),
    /// Two requests in one command.
    Both([Sending; 2]),
    /// The term query, with the index of its key.
    Term(usize),
    ShardChannel(String),
    /// SCRIPT LOAD, ASKING or PING: the reply changes nothing.
    Unimportant,
    Auth,
}

#[derive(Debug)]
pub(super) struct Sending {
    pub(super) request: Request,
    /// Whether another node redirected the request here with ASK, because this node is importing the slot.
    pub(super) asking: bool,
    reloads: u32,
    /// The reply to the first run, if the request is written again because an earlier one must run before it.
    pub(super) before: Option<Box<Reply>>,
}

impl Sending {
    pub(super) fn new(request: Request) -> Self {
        Self {
            request,
            asking: false,
            reloads: 0,
            before: None,
        }
    }

    /// Whether the request must be written again after this reply, since the server has lost the script.
    pub(super) fn again(&mut self, reply: &Value<'_>) -> bool {
        let lost = matches!(reply, Value::Error(error) if Code::of(error) == Code::NoScript);
        let again = lost && self.reloads < RELOADS;
        self.reloads += u32::from(again);
        again
    }

    /// The answer for the member. If a release ran twice, it's that of the first run: the second finds the ticket gone.
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
