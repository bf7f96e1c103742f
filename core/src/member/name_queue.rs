//! [`NameQueue`]: the interface between a client and the queue of one of its names.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ClientCore;
use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Answer, Message, Meta, SharedStr, Ticket};
use crate::task::TaskId;

/// The queue of one name. Its transitions are short and never block.
pub(crate) trait NameQueue: Send + Sync + Sized + 'static {
    fn new(name: Name, member: Arc<ClientCore<Self>>) -> Arc<Self>;

    fn name(&self) -> &Name;

    /// Called when the time `armed` has come. Returns `false` if the queue is idle, so that it may be retired.
    fn due(self: &Arc<Self>, armed: Instant) -> bool;

    /// Handles the store's answer to a request about this name.
    fn answered(self: &Arc<Self>, answer: Answer);

    /// Handles a message about this name. The queue checks its content.
    fn told(self: &Arc<Self>, message: &Message);

    /// Called for a new connection: resends the unanswered requests.
    fn reconnected(self: &Arc<Self>);

    /// Called when the connection breaks: the store timeout of the waiters counts from now.
    fn disconnected(self: &Arc<Self>);

    /// Retires the queue if it is idle. Returns whether the queue is retired.
    fn retire(&self) -> bool;

    /// Whether the name has no holds, no waiters and no pending releases.
    fn is_done(&self) -> bool;

    /// Whether the name has no holds and no waiters, and the leases of its pending releases have ended.
    fn is_over(&self) -> bool;

    fn load(&self) -> Load;

    /// Whether this queue has the ticket.
    fn knows(&self, ticket: Ticket) -> bool;

    /// Whether the ticket waits in this queue.
    fn waits_with(&self, ticket: Ticket) -> bool;

    /// The holds of the name.
    fn held(&self) -> Vec<HeldName>;

    /// Called when the client drains. All waiters fail and leave the store's queue, except those that belong to a
    /// running body. `holders` are the tasks that hold locks taken by hand.
    fn drain(self: &Arc<Self>, holders: &HashSet<TaskId>);

    /// Called when the client shuts down: fails the waiters and releases the holds.
    fn close(self: &Arc<Self>);

    /// Called when the engine has ended: fails everything that waits for an answer.
    fn abandon(self: &Arc<Self>);
}

/// The number of holds and waiters, of one name or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// The number of holds.
    pub(crate) held: usize,
    /// The number of calls that wait.
    pub(crate) waiting: usize,
    /// When the member sent the oldest renewal that has no answer yet.
    pub(crate) oldest_renewal: Option<Instant>,
}

impl Load {
    /// The sum of two loads.
    pub(super) fn and(self, other: Self) -> Self {
        let renewals = [self.oldest_renewal, other.oldest_renewal];
        Self {
            held: self.held + other.held,
            waiting: self.waiting + other.waiting,
            oldest_renewal: renewals.into_iter().flatten().min(),
        }
    }
}

/// One hold, for reports. Its `Display` output names the lock, the time and the place in the code.
#[derive(Clone, Debug)]
pub(crate) struct HeldName {
    pub(crate) name: Name,
    /// The holder, encoded for the store.
    pub(crate) meta: SharedStr,
    /// How long the lock has been held.
    pub(crate) held: Duration,
    /// The task that took the lock by hand, if known.
    pub(crate) taken_by: Option<TaskId>,
}

impl HeldName {
    /// The place in the program that took the lock.
    pub(crate) fn site(&self) -> String {
        Meta::caller(&self.meta).map_or_else(String::new, |caller| caller.site)
    }
}

impl fmt::Display for HeldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, held, site) = (&self.name, self.held, self.site());
        write!(f, "`{name}` for {held:?}, by {site}")
    }
}
