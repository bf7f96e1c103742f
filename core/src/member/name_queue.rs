//! [`NameQueue`]: the interface between a client and the queue of one of its names.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ClientCore;
use crate::base::clock::Instant;
use crate::base::name::Name;
use crate::base::task::TaskId;
use crate::store::{Answer, Message, Meta, SharedStr, Ticket};

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

    /// Whether the name has no holds, no waiters and no pending releases but those whose leases had ended at `now`.
    fn is_over(&self, now: Instant) -> bool;

    fn load(&self) -> Load;

    /// `None` if the ticket is not known.
    fn waits_with(&self, ticket: Ticket) -> Option<bool>;

    fn held(&self) -> Vec<HeldName>;

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

/// For reports: the `Display` output names the lock, the time and the place in the code.
#[derive(Clone, Debug)]
pub(crate) struct HeldName {
    pub(crate) name: Name,
    pub(crate) meta: SharedStr,
    pub(crate) held: Duration,
    /// If it took the lock by hand, and is known.
    pub(crate) taken_by: Option<TaskId>,
}

impl HeldName {
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
