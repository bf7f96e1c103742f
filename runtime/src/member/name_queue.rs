//! [`NameQueue`]: the interface between a client and the queue of one of its names.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Caller, ClientCore};
use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Answer, Message, Meta, SharedStr, Ticket};

/// The queue of one name. Its transitions are short and never block.
pub(crate) trait NameQueue: Send + Sync + Sized + 'static {
    fn new(name: Name, member: Arc<ClientCore<Self>>) -> Arc<Self>;

    fn name(&self) -> &Name;

    /// The armed time has come. `false`: the name has no tickets left.
    fn due(self: &Arc<Self>, armed: Instant) -> bool;

    /// The store answered a request about this name.
    fn answered(self: &Arc<Self>, answer: Answer);

    /// A message about this name arrived. The queue checks its content.
    fn told(self: &Arc<Self>, message: &Message);

    /// The connection is new: unanswered requests are sent again.
    fn reconnected(self: &Arc<Self>);

    /// The connection broke: the store timeout of the waiters counts from now.
    fn disconnected(self: &Arc<Self>);

    /// Takes this name out of use if it has no tickets left; returns whether it is out of use.
    fn retire(&self) -> bool;

    /// Whether the name has no holds, no waiters and no pending releases.
    fn is_done(&self) -> bool;

    /// Whether the name has no holds and no waiters, and the leases of its pending releases have ended.
    fn is_over(&self) -> bool;

    fn load(&self) -> Load;

    /// Whether this ticket is one of this queue.
    fn knows(&self, ticket: Ticket) -> bool;

    /// Whether this ticket waits.
    fn waits_with(&self, ticket: Ticket) -> bool;

    /// The holds of the name.
    fn held(&self) -> Vec<HeldName>;

    /// The client drains: waiters fail, and so leave the store's queue, unless they belong to a running body. `holders`
    /// have taken locks by hand.
    fn drain(self: &Arc<Self>, holders: &HashSet<Caller>);

    /// The client shuts down: the queue grants nothing more and releases its holds.
    fn close(self: &Arc<Self>);

    /// The engine has ended: everything that waits for an answer fails.
    fn abandon(self: &Arc<Self>);
}

/// How much a name is in use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// How many holds there are.
    pub(crate) held: usize,
    /// How many calls wait.
    pub(crate) waiting: usize,
    /// When the member sent the oldest renewal that has no answer yet.
    pub(crate) oldest_renewal: Option<Instant>,
}

impl Load {
    /// The sum for two names.
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
    /// For how long.
    pub(crate) held: Duration,
    /// The caller that took the lock by hand, if known.
    pub(crate) caller: Option<Caller>,
}

impl HeldName {
    /// The place in the program.
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
