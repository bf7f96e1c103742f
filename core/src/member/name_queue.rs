//! [`NameQueue`]: the interface between a client and the queue of one of its names.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::ClientCore;
use crate::base::clock::Instant;
use crate::base::name::Name;
use crate::base::task::TaskId;
use crate::store::{Answer, Message, Ticket, meta};

/// Its transitions are short and never block.
pub(crate) trait NameQueue: Send + Sync + Sized + 'static {
    fn new(name: Name, member: Arc<ClientCore<Self>>) -> Arc<Self>;

    fn name(&self) -> &Name;

    /// The time `armed` has come. Returns `false` if the queue is idle, so that it may be retired.
    fn due(self: &Arc<Self>, armed: Instant) -> bool;

    fn answered(self: &Arc<Self>, answer: Answer);

    fn told(self: &Arc<Self>, message: &Message);

    fn reconnected(self: &Arc<Self>);

    /// The store timeout of the waiters counts from now.
    fn disconnected(self: &Arc<Self>);

    /// Retires the queue if it is idle. Returns whether the queue is retired.
    fn retire(&self) -> bool;

    /// Whether the name has no holds, no waiters and no pending releases.
    fn is_done(&self) -> bool;

    /// Like [`is_done`](Self::is_done), but pending releases whose leases have ended don't count.
    fn is_over(&self) -> bool;

    fn load(&self) -> Load;

    /// `None` if the ticket is not known.
    fn waits_with(&self, ticket: Ticket) -> Option<bool>;

    fn held(&self) -> Vec<Unfinished>;

    /// All waiters fail, except those of running bodies. `holders` are the tasks that hold locks taken by hand.
    fn drain(self: &Arc<Self>, holders: &HashSet<TaskId>);

    /// Fails the waiters and releases the holds.
    fn close(self: &Arc<Self>);

    /// The engine has ended: fails everything that waits for an answer.
    fn abandon(self: &Arc<Self>);
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) held: usize,
    pub(crate) waiting: usize,
    /// When the member sent the oldest renewal that has no answer yet.
    pub(crate) oldest_renewal: Option<Instant>,
}

impl Load {
    pub(super) fn and(self, other: Self) -> Self {
        let renewals = [self.oldest_renewal, other.oldest_renewal];
        Self {
            held: self.held + other.held,
            waiting: self.waiting + other.waiting,
            oldest_renewal: renewals.into_iter().flatten().min(),
        }
    }
}

/// A lock that was still held when the time limit of the drain was over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// The complete name of the lock.
    pub name: String,
    /// The place in the code; see [`Holder::site`](crate::Holder::site).
    pub site: String,
    /// Since when the lock was held, by the local clock.
    pub since: SystemTime,
    /// For how long the lock was held.
    pub held: Duration,
    /// If it took the lock by hand, and is known.
    pub(crate) taken_by: Option<TaskId>,
}

impl Unfinished {
    pub(crate) fn new(name: &Name, meta: &str, held: Duration, taken_by: Option<TaskId>) -> Self {
        let since = SystemTime::now().checked_sub(held);
        Self {
            name: name.to_string(),
            site: meta::caller(meta).map_or_else(String::new, |caller| caller.site),
            since: since.unwrap_or(SystemTime::UNIX_EPOCH),
            held,
            taken_by,
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` for {:?}, by {}", self.name, self.held, self.site)
    }
}
