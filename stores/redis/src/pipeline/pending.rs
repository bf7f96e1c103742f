//! [`Awaited`]: an expected reply.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Reply, Request};

use crate::error::Code;
use crate::wire::Value;

const RELOADS: u32 = 3;

pub(crate) enum Awaited {
    Request(Sending),
    Both([Sending; 2]),
    Term(usize),
    /// One answer to [`Facts::question`](crate::connect::facts::Facts::question).
    Fact,
    ShardChannel(String),
    /// SCRIPT LOAD, ASKING or PING, whose replies change nothing.
    Unimportant,
    Auth,
}

pub(crate) struct Sending {
    pub(crate) request: Request,
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
