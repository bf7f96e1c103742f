//! What a store is: a trait, and the types that the stores and the local queue share.
//!
//! The words and the rules are those of `docs/protocol.md`: what is asked in [`op`], what is answered and told in
//! [`reply`], who asks in [`meta`] and [`id`]. Each store lives in a folder of its own. Nothing here knows about
//! handles, futures or guards.

mod closing;
mod cluster;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod id;
mod limits;
mod loan;
pub(crate) mod memory;
mod meta;
mod op;
mod open;
mod quorum;
mod redis;
mod reply;
mod seat;
mod text;

#[cfg(test)]
pub(crate) use self::closing::Cause;
pub(crate) use self::closing::Closing;
pub(crate) use self::id::{MemberId, Ticket, TicketMap};
pub(crate) use self::loan::{Clock, Loan};
pub(crate) use self::meta::{Meta, Owner};
pub(crate) use self::op::{Mode, Op, Share, Signal};
pub(crate) use self::open::{Opened, open};
pub(crate) use self::redis::rights;
pub(crate) use self::reply::{HolderRecord, Message, NameRecord, Reply, TicketRecord};
pub(crate) use self::seat::Seat;
pub(crate) use self::text::Text;
use crate::clock::Instant;
use crate::error::StoreError;
use crate::guarantees::Guarantees;
use crate::name::Name;

/// A request on its way to the store: an operation, and who wants the reply.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: Name,
    pub(crate) op: Op,
    pub(crate) id: RequestId,
}

/// Chosen by whoever submits; the store only hands it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(pub(crate) u64);

/// How a request ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) request: Request,
    pub(crate) result: Result<Reply, StoreError>,
}

/// A part of a store that is reached, or not, for itself. Most have just one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node(pub(crate) u32);

impl Node {
    pub(crate) const ONLY: Self = Self(0);
}

/// What a store tells its member. Called from the engine's thread, never from inside
/// [`Store::submit`], one call at a time.
pub(crate) trait Events: Send + Sync + 'static {
    /// A request was answered. `StoreError::is_disconnected` means that it may or may not have run;
    /// the member sends what still matters again.
    fn answered(&self, answer: Answer);

    /// A message of this member's channel about `name`.
    fn told(&self, name: &Name, message: Message);

    /// The connection to `node` is up and the channel subscribed: everything that lives there should be asked again.
    /// Called for every connection, the first one too; `generation` grows with each, and is 1 for the first one to a
    /// node that nothing was asked of before.
    fn connected(&self, node: Node, generation: u64);

    /// The connection to `node` is lost; requests for what lives there fail until `connected`.
    fn disconnected(&self, node: Node, error: StoreError);

    /// `node` is reached, and grants nothing until then; `None`: it grants. Told before `connected`, and when it changes.
    fn closed(&self, node: Node, closing: Option<Closing>);

    /// Another attempt to connect failed, with the cause that counts now.
    fn still_disconnected(&self, node: Node, error: StoreError);

    /// Nothing lives at `node` any more, nor ever will.
    fn gone(&self, _node: Node) {}
}

/// Where locks live.
pub(crate) trait Store: Send + Sync + 'static {
    /// Hands a request over. Requests of one member are executed in the order of submission as long
    /// as the connection lives. Returns the answer at once where the store is in this process,
    /// otherwise `None`; then [`Events::answered`] is called, exactly once, for every request.
    ///
    /// Never blocks, never calls [`Events`]. What is handed over may not go before [`flush`](Self::flush).
    fn submit(&self, request: Request) -> Option<Answer>;

    /// Sends what was submitted on this thread. Never blocks, but may call the system: no lock should be held.
    fn flush(&self) {}

    /// Takes no more requests. What runs the store ends when those it has are answered.
    fn close(&self);

    /// What it gives, as found at set-up.
    fn guarantees(&self) -> Guarantees {
        Guarantees::unknown()
    }

    /// Where `name` lives at present.
    fn node(&self, _name: &Name) -> Node {
        Node::ONLY
    }

    /// Whether answers come at once: the store is in this process.
    fn is_here(&self) -> bool {
        false
    }

    /// Lends `name`, where the store is in this process, nobody but this member uses it, and nobody has to do with the
    /// name. From now on the member grants and releases it, and gives it back before it submits anything.
    fn lend(&self, _name: &Name) -> Option<Loan> {
        None
    }

    /// Takes back what was lent, and with it what is held by the last grant.
    fn take_back(&self, _name: &Name, _loan: &Loan, _held: Option<&Seat<'_>>) {}

    /// Executes the acquire of `seat` at once and answers with its token, where the store is in this process and
    /// nobody has to do with the name. `now` was read after the step began that asks. `None`: nothing was done.
    fn grant_alone(&self, _name: &Name, _seat: &Seat<'_>, _now: Instant) -> Option<u64> {
        None
    }

    /// Executes the release of `ticket` at once and answers with the units that are free, where the store is in this
    /// process, the ticket holds, and nobody else has to do with the name. `None`: nothing was done.
    fn release_alone(&self, _name: &Name, _ticket: Ticket, _now: Instant) -> Option<u64> {
        None
    }
}
