//! The interface between the locks and the engines.
//!
//! An [`Engine`] is a kind of store at an address. It opens a [`Store`], which receives [`Request`]s and reports to
//! [`Events`], and a [`Reader`] for operators. Engines are compared with [`State`], which has the rules of the locks.
//! `docs/engines.md` walks through a toy engine, and `docs/protocol.md` defines each operation.
//!
//! Nothing here knows about handles, futures or guards. The module is for the authors of engines, and may change with
//! every version before 1.0.

mod connect_error;
#[doc(hidden)]
pub mod credentials;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod guarantees;
#[doc(hidden)]
pub mod id;
pub mod meta;
mod pattern;
mod reader;
#[doc(hidden)]
pub mod seal;
mod server_health;
mod store_options;

pub use self::connect_error::{ConnectError, Trouble};
#[doc(hidden)]
pub use self::engine::of_several;
pub use self::engine::{Checked, Driver, Engine, Layout, Parsed, Scheme, Several, Unconnected};
pub use self::engine::{decode, invalid, open, parse, same_kind};
pub use self::id::{RandomId, TicketMap, between, jittered, random_bytes, random_number};
pub use self::meta::time_of;
pub use self::pattern::matches;
pub use self::reader::{Described, Key, Page, Reader, Reading, Replica, Server, Snapshot};
#[cfg(any(test, feature = "test-util"))]
pub use self::seal::seal;
pub use self::seal::{deliver, open as open_message, parse as parse_message};
pub use self::server_health::ServerHealth;
#[doc(hidden)]
pub use self::server_health::write_state;
pub use self::store_options::{RENEWALS, Replicas, StoreOptions};
pub use crate::base::Boxed;
pub use crate::base::address::{Address, Secret};
pub use crate::base::clock;
pub use crate::base::error::apart;
pub use crate::base::error::with_sources;
pub use crate::base::name::{
    CONDVAR, Name, NameMap, WAKE_QUEUE, WATCHERS, escape, escape_shown, is_escaped,
};
pub use crate::base::process::PerProcess;
pub use crate::base::sync::Mutex;
pub use crate::base::target::STORE;
pub use crate::base::wait::{first, lock, tell, together};
pub use crate::store::credentials::{Granted, Source};
pub use auto_mutex_protocol::*;

use crate::store::guarantees::Guarantees;

/// A request of a member of this process.
pub type Request = auto_mutex_protocol::Request<Name>;

/// The answer to it.
pub type Answer = auto_mutex_protocol::Answer<Name>;

/// What a store reports to its member. The store calls these methods on the background thread, one at a time, and never
/// inside [`Store::submit`].
pub trait Events: Send + Sync + 'static {
    /// A request was answered. After an error that `is_disconnected`, it may or may not have run; the member resends it
    /// if it still matters.
    fn answered(&self, answer: Answer);

    /// The member's ticket for `name` with this [public half](Ticket::public).
    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket>;

    /// A message about `name` arrived on the member's channel. If others can send there too, the text goes to
    /// [`deliver`], which checks its author.
    fn told(&self, name: &Name, message: Message);

    /// The state of `node` has changed.
    fn node_changed(&self, node: Node, change: NodeChange);

    /// Whether the member holds nothing and waits for nothing, so that it expects no message.
    fn is_idle(&self) -> bool {
        false
    }
}

/// An implementation of the lock operations.
pub trait Store: Send + Sync + 'static {
    /// Submits a request. While a connection lasts, the store executes the requests of one member for one name in the
    /// order of submission. Returns the answer if there is one already: a store in this process answers immediately, as
    /// does a store that cannot take the request, for example after [`close`](Self::close). Otherwise it returns
    /// `None`, and later calls [`Events::answered`] exactly once for this request.
    ///
    /// Never blocks, and never calls [`Events`]. The request may stay unsent until [`flush`](Self::flush).
    fn submit(&self, request: Request) -> Option<Answer>;

    /// Sends the requests that this thread submitted. Never blocks, but may make system calls, so the caller should
    /// hold no mutex.
    fn flush(&self) {}

    /// Stops accepting requests. The driver ends once all submitted requests are answered.
    fn close(&self);

    /// The guarantees of the servers in use.
    fn guarantees(&self) -> Guarantees {
        Guarantees::unknown()
    }

    /// The node that currently serves `name`.
    fn node(&self, _name: &Name) -> Node {
        Node::ONLY
    }

    /// The servers in use; none if the store is in this process.
    fn servers(&self) -> Vec<ServerHealth> {
        Vec::new()
    }
}
