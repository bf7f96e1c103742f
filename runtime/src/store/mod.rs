//! What a store is: the operations on a name, their replies and the messages between members.
//!
//! The words and the rules are those of `docs/protocol.md`. Here are only the types that the stores
//! and the local queue share; each store lives in a folder of its own. Nothing here knows about handles,
//! futures or guards.

mod id;
pub(crate) mod memory;
pub(crate) mod redis;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) use self::id::{MemberId, Ticket, TicketMap};
use crate::error::{Holder, StoreError};
use crate::name::Name;

/// Whether an acquire that does not fit joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Joins the queue.
    Queue,
    /// Leaves nothing behind and says who holds.
    Try,
}

/// What an acquire asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) units: u32,
    /// Zero: nothing but signals is handed out.
    pub(crate) capacity: u32,
    /// A waiting signal will do instead of the unit.
    pub(crate) takes: bool,
    /// Holders of the same owner share one hold, in the whole cluster. Escaped; empty: nobody's.
    pub(crate) owner: Arc<str>,
}

impl Share {
    /// Some units of a capacity, for nobody in particular.
    pub(crate) fn of(units: u32, capacity: u32) -> Self {
        Self {
            units,
            capacity,
            takes: false,
            owner: Arc::default(),
        }
    }
}

/// What [`Op::Signal`] adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A token, kept until somebody takes it. Not more than once for the same ticket.
    Token(Arc<str>),
    /// One for the first waiter, if anybody waits.
    One,
    /// One for each waiter.
    All,
}

/// One operation on a name. Durations are whole milliseconds on the wire.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Acquire {
        ticket: Ticket,
        counter: u64,
        share: Share,
        hold: Duration,
        place: Duration,
        mode: Mode,
        /// Who asks: see [`Meta`]. Opaque to the store.
        meta: Arc<str>,
    },
    Touch {
        ticket: Ticket,
        counter: u64,
        /// A holder gives back what it has beyond these; zero: it keeps what it has.
        units: u32,
        hold: Duration,
        place: Duration,
    },
    Release {
        ticket: Ticket,
        /// How long the ticket stays in the store, held by nobody (`at_least`); zero: not at all.
        park: Duration,
        /// Leave a tombstone: a copy of an acquire may still arrive.
        tomb: bool,
        /// The fencing time of the grant whose signal was used; that of any other grant goes to the next. Zero: none was.
        used: u64,
    },
    /// `ticket` takes the place of `old`, which holds.
    Adopt {
        old: Ticket,
        ticket: Ticket,
        counter: u64,
        hold: Duration,
        place: Duration,
        /// Who asks: see [`Meta`].
        meta: Arc<str>,
    },
    /// Drops the holders: those of `owner`, or all of them if it is empty.
    Force {
        owner: Arc<str>,
    },
    /// Tells the holders of `owner` that their `expire` counts again.
    Refresh {
        owner: Arc<str>,
        expire: Duration,
    },
    Signal {
        /// Unique for ever, so that it is executed once.
        ticket: Ticket,
        signal: Signal,
    },
    /// Forgets the name, unless it is in use.
    Delete,
    Inspect,
}

impl Op {
    /// The ticket that this is about, if it is about one.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Acquire { ticket, .. }
            | Self::Touch { ticket, .. }
            | Self::Adopt { ticket, .. }
            | Self::Release { ticket, .. }
            | Self::Signal { ticket, .. } => Some(*ticket),
            Self::Force { .. } | Self::Refresh { .. } | Self::Delete | Self::Inspect => None,
        }
    }
}

/// What the store answers to an [`Op`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The ticket holds, for the `hold` of the request. `token` is the fencing time in microseconds.
    Granted {
        token: u64,
        /// What it was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket waits at `position` (from 1) and should touch again after `again`.
    Queued {
        position: u64,
        again: Duration,
        holder: Option<HolderRecord>,
    },
    /// `Mode::Try` only: it does not fit now.
    Busy {
        holder: Option<HolderRecord>,
    },
    /// A tombstone: this ticket was released or cancelled.
    Refused,
    /// More units than the capacity.
    TooMany,
    /// The name has another capacity at present.
    Mismatch {
        capacity: u32,
    },
    /// A touch or release of a ticket that the store does not know (any more).
    Gone,
    /// The release ended a hold. `free`: what can be had now, signals included.
    Released {
        free: u64,
    },
    /// The release ended a wait.
    Cancelled,
    /// How many holders a force dropped.
    Freed {
        holders: u64,
    },
    /// How many holders were told.
    Told {
        holders: u64,
    },
    /// How many signals were added.
    Signalled {
        count: u64,
    },
    /// `existed`: there was something to forget.
    Deleted {
        existed: bool,
    },
    /// Not deleted: it is in use.
    InUse {
        holders: u64,
        waiters: u64,
    },
    Info(NameRecord),
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderRecord {
    pub(crate) token: u64,
    pub(crate) meta: Arc<str>,
}

/// A ticket as `Op::Inspect` reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TicketRecord {
    pub(crate) ticket: Ticket,
    pub(crate) member: MemberId,
    pub(crate) units: u32,
    /// Zero for a waiter.
    pub(crate) token: u64,
    pub(crate) meta: Arc<str>,
    /// Until the lease (of a holder) or the place (of a waiter) ends, if nobody renews it.
    pub(crate) left: Duration,
    pub(crate) parked: bool,
}

/// The state of a name as `Op::Inspect` reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameRecord {
    /// The last fencing time handed out, in microseconds; zero if forgotten.
    pub(crate) token: u64,
    /// `None` when nobody holds or waits.
    pub(crate) capacity: Option<u32>,
    /// Units of the capacity that are taken.
    pub(crate) used: u64,
    /// Signals that wait for somebody to take them.
    pub(crate) signals: u64,
    /// It was used, and not deleted since.
    pub(crate) exists: bool,
    /// In order of token.
    pub(crate) holders: Vec<TicketRecord>,
    /// In order of place.
    pub(crate) waiters: Vec<TicketRecord>,
}

/// What a member is told on its channel. A hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Grant {
        ticket: Ticket,
        token: u64,
        counter: u64,
        hold: Duration,
        /// What was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    Near {
        ticket: Ticket,
    },
    Lost {
        ticket: Ticket,
    },
    /// `expire` counts again from now.
    Refresh {
        ticket: Ticket,
        expire: Duration,
    },
}

/// Whose a hold is, instead of the calling task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever names it in this client.
    Here(Arc<str>),
    /// Whoever names it in the cluster.
    Anywhere(Arc<str>),
}

/// Who a ticket belongs to, in the form the store keeps.
///
/// Three percent-escaped words: host, process id, site; and a fourth for an owner.
pub(crate) struct Meta;

impl Meta {
    pub(crate) fn write(host: &str, pid: u32, site: &str, owner: Option<&Owner>) -> Arc<str> {
        use crate::name::escape;
        let text = format!("{} {pid} {}", escape(host), escape(site));
        match owner {
            Some(owner) => Self::owned(&text, owner),
            None => text.into(),
        }
    }

    /// With an owner behind it.
    pub(crate) fn owned(meta: &str, owner: &Owner) -> Arc<str> {
        let (scope, owner) = match owner {
            Owner::Here(owner) => (HERE, owner),
            Owner::Anywhere(owner) => (ANYWHERE, owner),
        };
        format!("{meta}{scope}{}", crate::name::escape(owner)).into()
    }

    /// `None` for what this library did not write.
    pub(crate) fn read(record: &HolderRecord) -> Option<Holder> {
        use crate::name::unescape;
        let mut words = record.meta.split(' ');
        let host = unescape(words.next()?);
        let pid = words.next()?.parse().ok()?;
        let site = unescape(words.next()?);
        // The fourth is the owner.
        if words.nth(1).is_some() {
            return None;
        }
        Some(Holder {
            host,
            pid,
            site,
            since: SystemTime::UNIX_EPOCH + Duration::from_micros(record.token),
        })
    }

    /// The owner that `meta` names.
    pub(crate) fn owner(meta: &str) -> Option<String> {
        let named = meta.split_once(HERE).or_else(|| meta.split_once(ANYWHERE));
        named.map(|(_, owner)| crate::name::unescape(owner))
    }

    /// Whether `meta` names `owner` as one of the cluster.
    pub(crate) fn names(meta: &str, owner: &str) -> bool {
        let named = meta.split_once(ANYWHERE).map(|(_, owner)| owner);
        named == Some(crate::name::escape(owner).to_string().as_str())
    }
}

/// What stands before an owner. No escaped word contains a colon or a space.
const HERE: &str = " here:";
const ANYWHERE: &str = " anywhere:";

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

/// What a store tells its member. Called from the engine's thread, never from inside
/// [`Store::submit`], one call at a time.
pub(crate) trait Events: Send + Sync + 'static {
    /// A request was answered. `StoreError::is_disconnected` means that it may or may not have run;
    /// the member sends what still matters again.
    fn answered(&self, answer: Answer);

    /// A message of this member's channel about `name`.
    fn told(&self, name: &Name, message: Message);

    /// The connection is up and the channel subscribed: everything should be asked again.
    /// Called for every connection, the first one too; `generation` grows with each.
    fn connected(&self, generation: u64);

    /// The connection is lost; requests fail until `connected`.
    fn disconnected(&self, error: StoreError);

    /// Another attempt to connect failed, with the cause that counts now.
    fn still_disconnected(&self, error: StoreError);
}

/// Where locks live.
pub(crate) trait Store: Send + Sync + 'static {
    /// Hands a request over. Requests of one member are executed in the order of submission as long
    /// as the connection lives. Returns the answer at once where the store is in this process,
    /// otherwise `None`; then [`Events::answered`] is called, exactly once, for every request.
    ///
    /// Never blocks, never calls [`Events`].
    fn submit(&self, request: Request) -> Option<Answer>;
}
