//! [`Awaited`]: an expected reply.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Reply, Request};

use crate::error::Code;
use crate::wire::Value;

const RELOADS: u32 = 3;

pub(crate) enum Awaited {
    /// The command of this request may have others too, which follow.
    Request(Sending),
    Term(usize),
    /// One answer to [`Facts::question`](crate::connect::facts::Facts::question).
    Fact,
    ShardChannel(String),
    /// SCRIPT LOAD, ASKING or PING, whose replies change nothing.
    Unimportant,
    Auth,
}

/// What a request begins among the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    Command,
    /// The next name in the same command.
    Name,
    /// Nothing: it is the second operation on the same name.
    Nothing,
}

pub(crate) struct Sending {
    pub(crate) request: Request,
    pub(crate) begins: Begins,
    /// Whether another node redirected the request here with ASK, because this node is importing the slot.
    pub(crate) asking: bool,
    reloads: u32,
    /// The reply to the first run, if the request is sent again because an earlier one must run before it.
    pub(crate) before: Option<Box<Reply>>,
}

impl Sending {
    pub(crate) fn new(request: Request) -> Self {
        Self {
            request,
            begins: Begins::Command,
            asking: false,
            reloads: 0,
            before: None,
        }
    }

    pub(crate) fn again(&mut self, reply: &Value<'_>) -> bool {
        let lost = matches!(reply, Value::Error(error) if Code::of(error) == Code::NoScript);
        let again = lost && self.reloads < RELOADS;
        self.reloads += u32::from(again);
        again
    }

    /// The answer for the member. If a release ran twice, it is that of the first run, because the second finds no
    /// ticket.
    pub(crate) fn told(&mut self, result: Result<Reply, StoreError>) -> Result<Reply, StoreError> {
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
