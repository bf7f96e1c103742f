//! What awaits a reply, and when a request is written again.

use super::command::Way;
use super::reply;
use super::wire::Value;
use crate::error::StoreError;
use crate::store::{Reply, Request};

/// How often the scripts are loaded again for one request.
const RELOADS: u32 = 3;

/// What the server will answer next, in the order of writing.
#[derive(Debug)]
pub(super) enum Awaited {
    Request(Sending),
    /// A release and an acquire in one.
    Cycle([Sending; 2]),
    /// A script, loaded again.
    Load,
    /// What comes before a request for a slot that is on its way to this node.
    Asking,
    /// From when on the server grants, by which of the keys.
    Reign(usize),
    /// What tells that a shard channel is subscribed to.
    ShardChannel(String),
    Ping,
}

/// A request, and how often it was written for which reason.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) request: Request,
    pub(super) way: Way,
    /// Another node of the cluster said that this one has it by now, although the slot is not its own yet.
    pub(super) asking: bool,
    reloads: u32,
    /// What it was answered before it was written again behind another one.
    pub(super) before: Option<Box<Reply>>,
}

/// Why a request is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// The server lost the scripts.
    Scripts,
    /// The short way did not do.
    Detour,
}

impl Sending {
    pub(super) fn new(request: Request, way: Way) -> Self {
        Self {
            request,
            way,
            asking: false,
            reloads: 0,
            before: None,
        }
    }

    /// Whether the request has to be written again after this reply, which then is no answer.
    pub(super) fn again(&mut self, reply: &Value<'_>) -> Option<Again> {
        match reply {
            Value::Error(error) if error.code == "NOSCRIPT" && self.reloads < RELOADS => {
                self.reloads += 1;
                Some(Again::Scripts)
            }
            reply if self.way == Way::Short && reply::is_undone(reply) => {
                self.way = Way::Long;
                Some(Again::Detour)
            }
            _ => None,
        }
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
