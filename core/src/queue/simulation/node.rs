//! One member and its end of the connection.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use crate::base::clock::Instant;
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::queue::{Acquire, Confirmed};
use crate::queue::{ClientCore, Hold};
use crate::store::{Answer, MemberId, Message, Request, Store};

/// The member's end of the connection.
#[derive(Default)]
pub(super) struct Wire {
    pub(super) out: Mutex<VecDeque<Request>>,
}

impl Store for Wire {
    fn close(&self) {}

    fn submit(&self, request: Request) -> Option<Answer> {
        lock(&self.out).push_back(request);
        None
    }
}

pub(super) struct Node {
    pub(super) id: MemberId,
    pub(super) member: Arc<ClientCore>,
    pub(super) wire: Arc<Wire>,
    pub(super) connected: bool,
    pub(super) paused: bool,
    pub(super) crashed: bool,
    pub(super) replies: VecDeque<Answer>,
    pub(super) pushes: VecDeque<Message>,
    /// Copies of requests from broken connections that may still be executed.
    pub(super) late: Vec<(Instant, Request)>,
    /// The waiting callers, each with the greatest token that any caller had when this one asked.
    pub(super) waiting: Vec<(u64, Pin<Box<Acquire>>)>,
    pub(super) holds: Vec<Arc<Hold>>,
    /// The holds that were released.
    pub(super) old: Vec<Arc<Hold>>,
    /// The callers that wait for the answer to a release, each with whether it held the lock.
    pub(super) unlocks: Vec<(Confirmed, bool)>,
    /// The callers that wait for the answer to a renewal.
    pub(super) renewals: Vec<Confirmed>,
}
