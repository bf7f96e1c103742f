//! [`NameQueue`]: the interface between a client and the queue of one of its names.

use std::sync::Arc;

use super::ClientCore;
use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Answer, Message};

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

    /// The client shuts down: the queue grants nothing more and releases its holds.
    fn close(self: &Arc<Self>);

    /// The engine has ended: everything that waits for an answer fails.
    fn abandon(self: &Arc<Self>);
}
