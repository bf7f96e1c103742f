//! What awaits a reply, and when a request is written again.

use crate::error::StoreError;
use crate::store::{Reply, Request};
use crate::wire::Value;

/// How often the scripts are loaded again for one request.
const RELOADS: u32 = 3;

/// What the server will answer next, in the order of writing.
#[derive(Debug)]
pub(super) enum Awaited {
    Request(Sending),
    /// Two in one command.
    Both([Sending; 2]),
    /// A script, loaded again.
    Load,
    /// What comes before a request for a slot that is on its way to this node.
    Asking,
    /// From when on the server grants, by which of the keys.
    Term(usize),
    /// What tells that a shard channel is subscribed to.
    ShardChannel(String),
    Ping,
}

/// A request, and how often it was written for which reason.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) request: Request,
    /// Another node of the cluster said that this one has it by now, although the slot is not its own yet.
    pub(super) asking: bool,
    reloads: u32,
    /// What it was answered before it was written again behind another one.
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

    /// Whether the request has to be written again after this reply, since the server lost the script.
    pub(super) fn again(&mut self, reply: &Value<'_>) -> bool {
        let lost = matches!(reply, Value::Error(error) if error.code == "NOSCRIPT");
        let again = lost && self.reloads < RELOADS;
        self.reloads += u32::from(again);
        again
    }

    /// The answer after `result`. What was released is gone when the release runs again.
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
