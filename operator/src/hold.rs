//! [`Hold`] and [`Wait`]: a holder and a waiter of a lock.

use std::time::{Duration, SystemTime};

use auto_mutex_core::Holder;
use auto_mutex_core::store::{TOKENS_OF_A_GRANT, TicketRecord, meta, time_of};

/// A hold, as the store knows it. For some milliseconds, the process may hand it off to its own waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hold {
    /// Identifies the request in the store. A waiter that becomes a holder keeps it.
    pub id: String,
    /// The fencing token of the grant.
    pub token: u64,
    /// The number of units that are held.
    pub units: u32,
    /// Whether the lock was released, and only its `at_least` is not over.
    pub parked: bool,
    /// Whether no call is inside: the process [keeps](auto_mutex_core::Config::retain) the lock, to save its next call
    /// a request, and gives it back as soon as another process asks for it.
    pub kept: bool,
    /// When the hold began, by the store's clock; of a lock that is kept, when its process last said so.
    pub since: SystemTime,
    /// How long the lock has been held, by the store's clock.
    pub held: Duration,
    /// The time until the lease ends unless it is renewed.
    pub lease_left: Duration,
    /// What a leader [published](auto_mutex_core::Leader::value), perhaps nothing; `None` for other holders.
    pub value: Option<String>,
    /// The process, and the site in its program; `None` if another program wrote the record.
    pub who: Option<Holder>,
}

/// A waiter, as the store knows it. A process may wait with one waiter for several of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The waiter's place in the queue, from 1. (A quorum orders waiters by `since`, and the next holder need not be
    /// the first.)
    pub place: u32,
    /// Identifies the request in the store.
    pub id: String,
    /// The number of units that the waiter asks for.
    pub units: u32,
    /// How many calls of the process wait with it, as of its last request, which is at most a third of a lease ago.
    pub calls: u32,
    /// Whether the store passed the waiter over, because its process was silent when its turn came. The waiter keeps
    /// its place, and is next as soon as its process sends another request for it.
    pub passed_over: bool,
    /// When the wait began, by the store's clock.
    pub since: SystemTime,
    /// How long the waiter has waited, by the store's clock.
    pub waited: Duration,
    /// The time until the waiter loses its place if its process stays silent.
    pub place_left: Duration,
    /// What a standby of a leader will [publish](auto_mutex_core::Leader::value), perhaps nothing; `None` for other
    /// waiters.
    pub value: Option<String>,
    /// The process, and the site in its program; `None` if another program wrote the record. If several tasks of the
    /// process share the waiter, [`Holder::holds`] has the locks of the first one.
    pub who: Option<Holder>,
}

impl Hold {
    pub(super) fn new(ticket: &TicketRecord, capacity: u32, now: u64) -> Self {
        Self {
            id: ticket.ticket.to_string(),
            token: ticket.token.saturating_mul(TOKENS_OF_A_GRANT),
            units: ticket.units,
            parked: ticket.parked,
            kept: ticket.kept,
            since: time_of(ticket.since),
            held: since(ticket, now),
            lease_left: ticket.left,
            value: meta::leads(&ticket.meta),
            who: meta::describe(ticket, capacity),
        }
    }

    /// Whether `token` belongs to this grant: it is the token of this hold, or of one to which the process handed the
    /// lock off.
    #[must_use]
    pub fn has_token(&self, token: u64) -> bool {
        self.token / TOKENS_OF_A_GRANT == token / TOKENS_OF_A_GRANT
    }
}

impl Wait {
    pub(super) fn new(place: u32, ticket: &TicketRecord, capacity: u32, now: u64) -> Self {
        Self {
            place,
            id: ticket.ticket.to_string(),
            units: ticket.units,
            calls: ticket.calls(),
            passed_over: ticket.passed_over,
            since: time_of(ticket.since),
            waited: since(ticket, now),
            place_left: ticket.left,
            value: meta::leads(&ticket.meta),
            who: meta::describe(ticket, capacity),
        }
    }
}

fn since(ticket: &TicketRecord, now: u64) -> Duration {
    Duration::from_micros(now.saturating_sub(ticket.since))
}
