//! What the local queue knows of one ticket: waiting, trying, held, or on its way out.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::hold::Hold;
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::error::{LockError, StoreError};
use crate::lease::Bound;
use crate::store::{HolderRecord, Op, Reply, RequestId, Share, Ticket};
use crate::wait::Promise;

/// What was sent for a ticket, so that an answer counts from the sending that it answers.
#[derive(Debug)]
pub(super) struct SendLog {
    pub(super) ticket: Ticket,
    /// When it was asked for first.
    pub(super) since: Instant,
    /// Counter and time of the log that can still be answered: one of them, and, seldom, more.
    one: Option<(u64, Instant)>,
    more: Vec<(u64, Instant)>,
    last: u64,
    /// An acquire was sent on a connection that broke before the answer: a copy may still arrive.
    pub(super) late: bool,
}

impl SendLog {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            ticket: Ticket::random(),
            since: now,
            one: None,
            more: Vec::new(),
            last: 0,
            late: false,
        }
    }

    /// A counter for a sending at `now`.
    pub(super) fn next(&mut self, now: Instant) -> u64 {
        self.last += 1;
        let sent = (self.last, now);
        match self.one {
            None => self.one = Some(sent),
            Some(_) => self.more.push(sent),
        }
        self.last
    }

    /// When `counter` was sent; `None` if it never was.
    pub(super) fn at(&self, counter: u64) -> Option<Instant> {
        let mut sent = self.one.iter().chain(&self.more);
        sent.find(|sent| sent.0 == counter).map(|sent| sent.1)
    }

    /// Until when a grant of `lease` that answers `counter` can be shown to be valid; over, if it was never sent.
    pub(super) fn validity(&self, counter: u64, lease: Duration) -> Instant {
        let sent = self.at(counter);
        sent.map_or(Instant::START, |sent| sent.validity(lease))
    }

    /// `counter` was executed: no earlier sending will be answered with its own time.
    pub(super) fn executed(&mut self, counter: u64) {
        self.one.take_if(|sent| sent.0 < counter);
        self.more.retain(|sent| sent.0 >= counter);
    }

    /// How often the store was asked.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.last).unwrap_or(u32::MAX)
    }
}

/// A ticket that waits in the store for one of the first of the local waiters.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) log: SendLog,
    pub(super) share: Share,
    /// The lease asked for.
    pub(super) hold: Duration,
    /// Unless it is `queued`: since when the store owes an answer, to this one or to the one before in its place.
    pub(super) owed: Instant,
    /// When to touch again.
    pub(super) again: Instant,
    /// The store has put the ticket into its queue.
    pub(super) queued: bool,
    /// Who held the name at the last answer.
    pub(super) holder: Option<HolderRecord>,
    /// Grants that were over when they arrived.
    pub(super) stale: u32,
    /// Why the store did not serve the last request.
    pub(super) trouble: Option<StoreError>,
}

impl Ask {
    /// Whether its grant may be for `waiter`. It may have been made by now: then others may have been granted what
    /// fits beside it, with later tokens, and whoever began to wait after that must not get an earlier one.
    pub(super) fn suits(&self, waiter: &Waiter) -> bool {
        let share = &waiter.want.share;
        *share == self.share && (share.excludes_all() || waiter.started <= self.log.since)
    }
}

/// A ticket that does not wait in the store: `block = 0`, `try_lock`, `retries`.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) log: SendLog,
    pub(super) waiter: Arc<Waiter>,
    /// The lease asked for.
    pub(super) hold: Duration,
    /// The ticket of another member that it takes over.
    pub(super) adopts: Option<Ticket>,
    /// Attempts made, this one included.
    pub(super) number: u32,
    /// The next attempt, while this one is over.
    pub(super) next: Option<Instant>,
    /// When to send this one again, if the store could not serve it.
    pub(super) again: Instant,
    /// Who held the name at the last attempt.
    pub(super) holder: Option<HolderRecord>,
    /// Why the store did not serve the last request.
    pub(super) trouble: Option<StoreError>,
}

/// A ticket that holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) log: SendLog,
    pub(super) hold: Arc<Hold>,
    /// When to touch.
    pub(super) renew: Instant,
    /// The counter that the store had executed when it granted: answers up to it are older than the grant.
    pub(super) granted: u64,
    /// When the store's grant arrived.
    pub(super) since: Instant,
    /// Not before the end of any lease that was asked for. What is asked for later ends no sooner: an earlier answer, and
    /// the next one that it is handed on to, count on it.
    pub(super) leased: Instant,
    /// How often it was handed on here since.
    pub(super) handed: u32,
    /// The store knows an owner of it.
    pub(super) owned: bool,
    /// Who waits for a renewal.
    pub(super) refreshers: Vec<Refresher>,
    /// Of nested calls that somebody wants to know the end of.
    pub(super) bounds: Vec<Weak<Bound>>,
}

/// Told whether the store confirms a hold.
pub(crate) type Confirmed = Arc<Promise<Result<(), LockError>>>;
/// Told what can be had after the release; `None` if the lock was not held until then.
pub(crate) type Unlocked = Arc<Promise<Result<Option<u64>, LockError>>>;
/// Who waits for a release, and until when.
pub(super) type Unlocker = (Instant, Unlocked);

/// Somebody who wants the store to confirm a hold.
#[derive(Debug)]
pub(super) struct Refresher {
    /// Confirmed by an answer to this sending or a later one.
    pub(super) counter: u64,
    /// When patience ends.
    pub(super) deadline: Instant,
    pub(super) promise: Confirmed,
}

/// A ticket that must leave the store; kept until the store has answered.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) ticket: Ticket,
    pub(super) park_until: Instant,
    pub(super) tomb: bool,
    /// The fencing time of the grant whose signal was used.
    pub(super) used: Option<u64>,
    /// Whether it was held by the local clock when it was released.
    pub(super) held: bool,
    /// A sending was not answered: the store may have executed it.
    pub(super) unanswered: bool,
    /// When to send it again, if the store refused.
    pub(super) again: Instant,
    /// When the store has forgotten it even if no sending arrives.
    pub(super) over: Instant,
    /// Who waits for the answer, and for how long.
    pub(super) unlocker: Option<Unlocker>,
}

/// A question about the name.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) id: RequestId,
    pub(super) op: Op,
    /// When to ask again, if the store was busy.
    pub(super) again: Instant,
    pub(super) deadline: Instant,
    pub(super) promise: Arc<Promise<Result<Reply, LockError>>>,
}
