//! [`Lock`]: the state of one name, of any kind.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use auto_mutex_core::store::{
    CONDVAR, KickRecord, Name, NameRecord, TOKENS_OF_A_GRANT, meta, time_of,
};
use auto_mutex_core::{Holder, LockKind};

use super::{Hold, Wait};

/// The state of a lock when the store was asked. It may have changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lock {
    /// The complete name, with its namespace, as in errors.
    pub name: String,
    /// The kind of the lock; `None` while the lock has neither holders nor waiters.
    pub kind: Option<LockKind>,
    /// The number of units: 1 for a mutex, 2^30 for a readers-writer lock, 0 for a condition variable or a semaphore
    /// without permits. `None` if `kind` is `None`.
    pub capacity: Option<u32>,
    /// The number of units that are held.
    pub used: u64,
    /// The fencing token of the last grant; `None` if the name has been unused for ten minutes or more.
    pub token: Option<u64>,
    /// How many tokens of a semaphore no caller has taken yet, or how many notifications no waiter has received yet.
    pub signals: u64,
    /// The last hold broken by a kick, for a day: see [`Operator::kick`](super::Operator::kick).
    pub kicked: Option<Kicked>,
    /// The holders, in order of arrival.
    pub holders: Vec<Hold>,
    /// The waiters, in the order of the queue. Those of a leader's seat are its standbys.
    pub waiters: Vec<Wait>,
    /// How many processes and tasks [watch](auto_mutex_core::LeaderWatch) who leads. Only known of a leader's seat.
    pub watchers: usize,
    /// The store's time when it answered.
    pub asked: SystemTime,
    pub(super) id: Name,
    /// Its holders and waiters are those above, in the same order.
    pub(super) record: Arc<NameRecord>,
}

/// A hold that was broken by a kick.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kicked {
    /// When it was broken, by the store's clock.
    pub at: SystemTime,
    /// The fencing token of the hold.
    pub token: u64,
    /// The process that broke it. Its [site](Holder::site) is the text that it gave. `None` if another program wrote
    /// the record.
    pub by: Option<Holder>,
}

impl Kicked {
    fn new(kick: &KickRecord) -> Self {
        Self {
            at: time_of(kick.at),
            token: kick.token.saturating_mul(TOKENS_OF_A_GRANT),
            by: meta::caller(&kick.by),
        }
    }
}

impl Lock {
    pub(super) fn new(name: &Name, record: NameRecord, now: u64) -> Self {
        let capacity = record.capacity.unwrap_or(0);
        let kind = record.capacity.map(|capacity| {
            // A semaphore without permits also has a condition variable's capacity.
            if name.before(CONDVAR).is_some() {
                return LockKind::Condvar;
            }
            match is_seat(&record) {
                true => LockKind::Leader,
                false => LockKind::of(capacity, record.takes()),
            }
        });
        let waiters = (1..).zip(&record.waiters);
        Self {
            name: name.to_string(),
            kind,
            capacity: record.capacity,
            used: record.used,
            token: record.last_token(),
            signals: record.signals,
            kicked: record.kick.as_deref().map(Kicked::new),
            holders: record
                .holders
                .iter()
                .map(|ticket| Hold::new(ticket, capacity, now))
                .collect(),
            waiters: waiters
                .map(|(place, ticket)| Wait::new(place, ticket, capacity, now))
                .collect(),
            watchers: 0,
            asked: time_of(now),
            id: name.clone(),
            record: Arc::new(record),
        }
    }

    /// How many calls wait: the sum of the [`calls`](Wait::calls) of all waiters.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiters.iter().map(|wait| u64::from(wait.calls)).sum()
    }

    /// Whether the lock has holders, waiters or signals. A process that keeps the lock is a holder.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        !self.holders.is_empty() || !self.waiters.is_empty() || self.signals > 0
    }

    /// Whether this is the seat of a [`Leader`](auto_mutex_core::Leader), which somebody has or stands for.
    #[must_use]
    pub fn is_seat(&self) -> bool {
        self.kind == Some(LockKind::Leader)
    }

    /// The leader, if this is a [seat](Self::is_seat). Its [token](Hold::token) is the number of its term.
    #[must_use]
    pub fn leader(&self) -> Option<&Hold> {
        let mut holders = self.holders.iter().filter(|_| self.is_seat());
        holders.find(|hold| !hold.parked && !hold.kept)
    }

    /// How long the oldest waiter has waited. `None` for a leader's [seat](Self::is_seat): a standby is not kept
    /// waiting.
    #[must_use]
    pub fn oldest_wait(&self) -> Option<Duration> {
        let waiters = self.waiters.iter().filter(|_| !self.is_seat());
        waiters.map(|waiter| waiter.waited).max()
    }

    /// How long the oldest holder has held the lock. A lock that is only [kept](Self::is_kept) is not held.
    #[must_use]
    pub fn held(&self) -> Option<Duration> {
        let holders = self.holders.iter().filter(|holder| !holder.kept);
        holders.map(|holder| holder.held).max()
    }

    /// Whether a process keeps the lock between calls: see [`Hold::kept`].
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.holders.iter().any(|holder| holder.kept)
    }
}

/// Whether somebody leads, or stands for the lead.
pub(super) fn is_seat(record: &NameRecord) -> bool {
    let mut tickets = record.holders.iter().chain(&record.waiters);
    tickets.any(|ticket| meta::leads(&ticket.meta).is_some())
}
