//! [`NameQueue`]: what a client asks of the queue of one of its names.

use std::sync::Arc;

use super::ClientCore;
use crate::clock::Instant;
use crate::name::Name;
use crate::store::{Answer, Message};

/// The queue of one name. Its steps are short and never block.
pub(crate) trait NameQueue: Send + Sync + Sized + 'static {
    fn new(name: Name, member: Arc<ClientCore<Self>>) -> Arc<Self>;

    fn name(&self) -> &Name;

    /// The engine looks here at the time that was armed. `false`: nothing is left of this name.
    fn due(self: &Arc<Self>, armed: Instant) -> bool;

    /// The store answered a request about this name.
    fn answered(self: &Arc<Self>, answer: Answer);

    /// A message about this name. The queue checks what it claims.
    fn told(self: &Arc<Self>, message: &Message);

    /// The connection is new: whatever was not answered is sent again.
    fn reconnected(self: &Arc<Self>);

    /// The connection broke: patience counts from now.
    fn disconnected(self: &Arc<Self>);

    /// Takes this name out of use if nothing is left of it. Whether it is out of use.
    fn retire(&self) -> bool;

    /// Whether nothing is held, wanted or being released.
    fn is_done(&self) -> bool;

    /// Whether nobody wants anything any more, and the leases of what is being released have ended.
    fn is_over(&self) -> bool;

    /// The client shuts down: nobody is granted anything any more, and what is held is released.
    fn close(self: &Arc<Self>);

    /// The engine is gone: whoever still waits for an answer gets none.
    fn abandon(self: &Arc<Self>);
}
