//! The seam between the locks and the engines.
//!
//! An [`Engine`] is a kind of store at an address. It opens a [`Store`], which gets [`Request`]s and reports to [`Events`], and
//! a [`Reader`] for operators. [`State`] has the rules of the locks, with which engines are compared. `docs/engines.md` walks
//! through a toy engine; `docs/protocol.md` says what each operation does.
//!
//! Nothing here knows about handles, futures or guards. The module is for the authors of engines, and may change with every
//! version before 1.0.

mod backoff;
mod closed;
mod connect_error;
pub(crate) mod credentials;
pub(crate) mod engine;
pub(crate) mod guarantees;
pub(crate) mod id;
pub(crate) mod limits;
pub(crate) mod memory;
pub mod meta;
mod op;
mod pattern;
mod reader;
mod reply;
mod server_health;
mod shared_str;
mod store_options;

pub use self::backoff::{Backoff, Trouble, between, jittered};
pub use self::closed::{Cause, Closed};
pub use self::connect_error::ConnectError;
pub(crate) use self::engine::of_several;
pub use self::engine::{Checked, Driver, Engine, Layout, Parsed, Scheme, Several, Unconnected};
pub use self::engine::{decode, invalid, open, parse, same_kind};
pub use self::id::{MemberId, Ticket, TicketMap, random_number};
pub use self::limits::*;
pub use self::memory::state::{Publish, State};
pub use self::meta::{Owner, time_of};
pub use self::op::{Lease, Mode, Op, Share, Signal, millis};
pub use self::pattern::matches;
pub use self::reader::{Described, Key, Page, Reader, Reading, Replica, Server, Snapshot};
pub use self::reply::{HolderRecord, KickRecord, Message, NameRecord, Reply, TicketRecord};
pub use self::server_health::ServerHealth;
pub(crate) use self::server_health::write_state;
pub use self::shared_str::SharedStr;
pub use self::store_options::{Replicas, StoreOptions};
pub use crate::base::Boxed;
pub use crate::base::address::{Address, DialedStream, Dialer, Secret};
pub use crate::base::clock::Instant;
pub use crate::base::error::apart;
pub use crate::base::error::{RW_LOCK, StoreErrorKind, with_sources};
pub use crate::base::name::{CONDVAR, Name, NameMap, escape, escape_shown, is_escaped};
pub use crate::base::wait::{first, lock, tell};
pub use crate::store::credentials::{Granted, Source};

use crate::base::error::StoreError;
use crate::store::guarantees::Guarantees;

/// An operation on a name, and the id that the answer carries.
#[derive(Debug)]
pub struct Request {
    /// The name of the lock.
    pub name: Name,
    /// What to do.
    pub op: Op,
    /// Comes back with the answer.
    pub id: RequestId,
}

impl Request {
    /// Makes the answer to a request that failed.
    pub fn failed(self, error: StoreError) -> Answer {
        Answer {
            request: self,
            result: Err(error),
        }
    }

    /// Makes the answer to a request that no server has had, because there was no connection yet. No server knows the
    /// ticket of a release.
    pub fn unsent(self) -> Answer {
        let result = match self.op {
            Op::Release { .. } => Ok(Reply::Gone),
            _ => Err(not_yet()),
        };
        Answer {
            request: self,
            result,
        }
    }
}

/// The error of a store or server without a first connection.
pub fn not_yet() -> StoreError {
    StoreError::disconnected("the lock store is not connected yet")
}

/// The id of a request. The submitter chooses it; the store returns it with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// The result of a request.
#[derive(Debug)]
pub struct Answer {
    /// The request that is answered.
    pub request: Request,
    /// The reply of the store, or why there is none.
    pub result: Result<Reply, StoreError>,
}

/// A server of a store. Each server can be connected or not; most stores have one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(pub u32);

impl Node {
    /// The node of a store with one server.
    pub const ONLY: Self = Self(0);
}

/// The events that a store reports to its member. The store calls these methods on the background thread, one at a time,
/// and never from inside [`Store::submit`].
pub trait Events: Send + Sync + 'static {
    /// A request was answered. If the error is `is_disconnected`, the request may or may not have run; the member sends
    /// the request again if it still matters.
    fn answered(&self, answer: Answer);

    /// A message about `name` came on the member's channel.
    fn told(&self, name: &Name, message: Message);

    /// The state of `node` has changed.
    fn node_changed(&self, node: Node, change: NodeChange);
}

/// A change of the state of a [`Node`].
#[derive(Debug)]
pub enum NodeChange {
    /// It is connected, and subscribed to the member's channel: the member must touch every ticket of the node. Reported
    /// for each connection, including the first.
    Connected {
        /// Whether the node had a connection or requests before.
        again: bool,
    },
    /// The connection is lost; requests for its names fail until it is connected.
    Disconnected(StoreError),
    /// Another attempt to connect failed; this is the latest cause.
    StillDisconnected(StoreError),
    /// It is connected, and grants nothing for this time; `None`: it grants. Reported before `Connected`, and on every
    /// change.
    Closed(Option<Closed>),
    /// It serves no names any longer, and never will.
    Gone,
}

/// An implementation of the lock operations.
pub trait Store: Send + Sync + 'static {
    /// Submits a request. While a connection lasts, the store executes the requests of one member for one name in the order
    /// of submission. A store in this process returns the answer at once. So does a store that cannot take the request, for
    /// example after [`close`](Self::close). Otherwise the store returns `None`, and calls [`Events::answered`] exactly once
    /// for each request.
    ///
    /// Never blocks, never calls [`Events`]. The request may stay unsent until [`flush`](Self::flush).
    fn submit(&self, request: Request) -> Option<Answer>;

    /// Sends the requests that this thread submitted. Never blocks, but may make system calls: the caller should hold no lock.
    fn flush(&self) {}

    /// Stops accepting requests. The driver ends when all submitted requests are answered.
    fn close(&self);

    /// The guarantees of the present servers.
    fn guarantees(&self) -> Guarantees {
        Guarantees::unknown()
    }

    /// The node that serves `name` at present.
    fn node(&self, _name: &Name) -> Node {
        Node::ONLY
    }

    /// The servers in use; none if the store is in this process.
    fn servers(&self) -> Vec<ServerHealth> {
        Vec::new()
    }
}
