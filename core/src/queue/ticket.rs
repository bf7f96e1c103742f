//! [`Ticket`]: one ticket of this process, from its first request to the answer to its release.
//!
//! A ticket waits in the store, attempts to take free units, holds, or leaves: see [`TicketState`]. Its methods change
//! its state and return the request to send. They neither send requests nor wake tasks themselves.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::hold::Hold;
use super::send_log::SendLog;
use super::waiter::Waiter;
use super::warnings::Warned;
use crate::clock::Instant;
use crate::error::{LockError, StoreError};
use crate::lease::Bound;
use crate::store::{HolderRecord, Lease, Mode, Op, Share, Ticket as TicketId};
use crate::wait::{DeferredWakes, Promise};

/// One ticket, in any state.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) log: SendLog,
    /// The lease that the ticket asks for.
    pub(super) lease: Duration,
    /// When to send the ticket's request again: an acquire, a renewal or a release.
    pub(super) again: Instant,
    pub(super) state: TicketState,
}

/// The state of a ticket.
#[derive(Debug)]
pub(super) enum TicketState {
    /// The ticket waits in the store's queue, or its acquire is in flight.
    Waiting(Waiting),
    /// The ticket takes the name only if the name is free, and never waits in the store: `block = 0`, `try_lock`,
    /// `retries`, adoptions.
    Attempting(Attempting),
    /// The ticket holds the name.
    Held(Held),
    /// The ticket leaves the store. It is kept here until the store has answered the release.
    Leaving(Leaving),
}

/// See [`TicketState::Waiting`].
#[derive(Debug)]
pub(super) struct Waiting {
    /// The waiter that the ticket serves. A spare ticket has none: it only keeps the place of this process in the
    /// store's queue.
    pub(super) waiter: Option<Arc<Waiter>>,
    pub(super) share: Share,
    /// Since when the store has not answered the acquire of this ticket, or of the ticket that it replaces. Irrelevant
    /// once the ticket is `queued`.
    pub(super) unanswered_since: Instant,
    /// The store has put the ticket into its queue.
    pub(super) queued: bool,
    /// The holder of the name, as of the last answer.
    pub(super) holder: Option<HolderRecord>,
    /// The place in the store's queue, as of the last answer.
    pub(super) place: Option<u64>,
    /// How many answers had a grant that had already ended when the answer arrived.
    pub(super) stale: u32,
    /// Why the store did not serve the last request.
    pub(super) trouble: Option<StoreError>,
}

/// See [`TicketState::Attempting`].
#[derive(Debug)]
pub(super) struct Attempting {
    pub(super) waiter: Arc<Waiter>,
    /// The other client's ticket whose hold this attempt takes over.
    pub(super) adopts: Option<TicketId>,
    /// The number of this attempt of the waiter, from 1.
    pub(super) number: u32,
    /// Why the store did not serve the last request.
    pub(super) trouble: Option<StoreError>,
}

/// See [`TicketState::Held`].
#[derive(Debug)]
pub(super) struct Held {
    pub(super) hold: Arc<Hold>,
    /// The counter of the last request that the store had executed when it granted. Answers to this request and to
    /// earlier ones are older than the grant.
    pub(super) granted: u64,
    /// When the store's grant arrived.
    pub(super) since: Instant,
    /// The latest end of all leases that were asked for. No later request asks for an earlier end, because answers in
    /// flight and the next holder in this process rely on this one.
    pub(super) leased: Instant,
    /// The warnings about the hold.
    pub(super) warned: Warned,
    /// How often the ticket was handed to another waiter of this process.
    pub(super) handed: u32,
    /// The hold has an owner in the store.
    pub(super) owned: bool,
    /// The store reported that `force_unlock` took the lock away. The answer to the next renewal decides whether the
    /// hold is lost.
    pub(super) forced: bool,
    /// Callers that wait for the store to confirm a renewal.
    pub(super) refreshers: Vec<Refresher>,
    /// The bounds of nested calls whose end a listener waits for.
    pub(super) bounds: Vec<Weak<Bound>>,
}

/// See [`TicketState::Leaving`].
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) park_until: Instant,
    /// The token of the grant whose signal was used.
    pub(super) used: Option<u64>,
    /// The lock was still held, by the local clock, when it was released.
    pub(super) held: bool,
    /// A release got no answer: the store may have executed it.
    pub(super) unanswered: bool,
    /// When the store drops the ticket even if no release arrives.
    pub(super) over: Instant,
    /// When the release was last sent.
    pub(super) sent: Instant,
    /// The caller that waits for the answer, and its deadline.
    pub(super) unlocker: Option<Unlocker>,
}

/// The content of a grant.
pub(super) struct Granted {
    /// The store's time of the grant in microseconds. The fencing token is computed from it.
    pub(super) token: u64,
    /// The counter of the ticket's last request that the store had executed when it granted.
    pub(super) counter: u64,
    /// Until when the grant can be proved valid.
    pub(super) valid: Instant,
    /// The grant came as a message and must be claimed.
    pub(super) provisional: bool,
    /// The length of the granted lease.
    pub(super) lease: Duration,
    /// The signal that was granted instead of a unit.
    pub(super) signal: Option<Arc<str>>,
}

/// A promise of the store's confirmation that a hold is valid.
pub(crate) type Confirmed = Arc<Promise<Result<(), LockError>>>;
/// A promise of the number of units that are free after the release; `None` if the lock was lost before the release.
pub(crate) type Unlocked = Arc<Promise<Result<Option<u64>, LockError>>>;
/// A caller that waits for a release, and its deadline.
pub(super) type Unlocker = (Instant, Unlocked);

/// A caller that wants the store to confirm a hold.
#[derive(Debug)]
pub(super) struct Refresher {
    /// The answer to this request or a later one confirms the hold.
    pub(super) counter: u64,
    /// When the store timeout of the caller ends.
    pub(super) deadline: Instant,
    pub(super) promise: Confirmed,
}

impl Refresher {
    /// When the caller gets an error. `spared` is the end of the extra time that the store has to answer.
    pub(super) fn ends(&self, spared: Instant) -> Instant {
        self.deadline.max(spared)
    }
}

impl Ticket {
    pub(super) fn new(now: Instant, lease: Duration, state: TicketState) -> Self {
        Self {
            log: SendLog::new(now),
            lease,
            again: Instant::NEVER,
            state,
        }
    }

    /// The ticket's id in the store.
    pub(super) fn id(&self) -> TicketId {
        self.log.id
    }

    /// The grant in the answer to a request for `lease`.
    pub(super) fn granted(&self, lease: Lease, token: u64, signal: Option<Arc<str>>) -> Granted {
        Granted {
            token,
            counter: lease.counter,
            valid: self.log.validity(lease.counter, lease.hold),
            provisional: false,
            lease: lease.hold,
            signal,
        }
    }

    pub(super) fn waiting(&self) -> Option<&Waiting> {
        match &self.state {
            TicketState::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }

    pub(super) fn waiting_mut(&mut self) -> Option<&mut Waiting> {
        match &mut self.state {
            TicketState::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }

    pub(super) fn attempting(&self) -> Option<&Attempting> {
        match &self.state {
            TicketState::Attempting(attempt) => Some(attempt),
            _ => None,
        }
    }

    pub(super) fn held(&self) -> Option<&Held> {
        match &self.state {
            TicketState::Held(held) => Some(held),
            _ => None,
        }
    }

    pub(super) fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.state {
            TicketState::Held(held) => Some(held),
            _ => None,
        }
    }

    pub(super) fn leaving_mut(&mut self) -> Option<&mut Leaving> {
        match &mut self.state {
            TicketState::Leaving(leaving) => Some(leaving),
            _ => None,
        }
    }

    /// Whether the ticket waits, and its grant may serve `waiter`. The store may already have granted the ticket, and
    /// other tickets after it with greater tokens. So a waiter that came after the ticket was made must not get the
    /// smaller token.
    pub(super) fn may_serve(&self, waiter: &Waiter) -> bool {
        let share = &waiter.want.share;
        let is_same = |waiting: &Waiting| waiting.share == *share;
        self.waiting().is_some_and(is_same)
            && (share.excludes_all() || waiter.started <= self.log.since)
    }

    /// Whether the ticket is the attempt of `waiter`.
    pub(super) fn is_attempt_of(&self, waiter: &Arc<Waiter>) -> bool {
        let attempt = self.attempting();
        attempt.is_some_and(|attempt| Arc::ptr_eq(&attempt.waiter, waiter))
    }

    /// Whether the store cannot know the ticket, because no request of it was sent yet. An attempt rests until its first
    /// request is sent at the time `again`; a ticket in another state never rests.
    pub(super) fn is_resting(&self) -> bool {
        self.log.count() == 0
    }

    /// The order in which the requests of tickets are sent again on a new connection: waiting tickets first, in the
    /// order of their waiters.
    pub(super) fn rank(&self) -> u8 {
        match self.state {
            TicketState::Waiting(_) => 0,
            TicketState::Attempting(_) => 1,
            TicketState::Held(_) => 2,
            TicketState::Leaving(_) => 3,
        }
    }

    /// The request to send at `now`, for the first time or again (a second copy is harmless). `place` is the client's lease.
    pub(super) fn request(&mut self, now: Instant, place: Duration) -> Op {
        match &mut self.state {
            TicketState::Waiting(Waiting {
                waiter: Some(waiter),
                queued: false,
                share,
                ..
            }) => Op::Acquire {
                lease: self.log.lease(now, self.lease, place),
                share: share.clone(),
                mode: Mode::Queue,
                meta: waiter.want.meta.clone(),
            },
            TicketState::Waiting(_) => self.touch_waiting(now, place),
            TicketState::Attempting(attempt) => {
                let want = &attempt.waiter.want;
                let (lease, meta) = (self.log.lease(now, self.lease, place), want.meta.clone());
                match attempt.adopts {
                    Some(old) => Op::Adopt { old, lease, meta },
                    None => Op::Acquire {
                        lease,
                        share: want.share.clone(),
                        mode: Mode::Try,
                        meta,
                    },
                }
            }
            TicketState::Held(held) => {
                let hold = held.next_lease(now, place);
                Op::Touch {
                    lease: self.log.lease(now, hold, place),
                    units: held.hold.given_back().unwrap_or(0),
                }
            }
            TicketState::Leaving(leaving) => {
                leaving.sent = now;
                Op::Release {
                    ticket: self.log.id,
                    park: now.until(leaving.park_until),
                    tomb: self.log.late,
                    used: leaving.used.unwrap_or(0),
                }
            }
        }
    }

    /// The request that renews the place of a waiting ticket, or claims its grant. `place` is the client's lease.
    pub(super) fn touch_waiting(&mut self, now: Instant, place: Duration) -> Op {
        let lease = self.log.lease(now, self.lease, place);
        Op::Touch { lease, units: 0 }
    }
}

impl Held {
    /// The state of a ticket whose grant of `lease` arrived at `now`. `granted`: the counter of the last request that
    /// the store had executed when it granted.
    #[inline]
    pub(super) fn new(hold: Arc<Hold>, granted: u64, lease: Duration, now: Instant) -> Self {
        Self {
            hold,
            granted,
            since: now,
            leased: now.after(lease),
            warned: Warned::default(),
            handed: 0,
            owned: false,
            forced: false,
            refreshers: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// The lease that the next renewal or claim asks for. `lease` is the client's lease.
    fn next_lease(&mut self, now: Instant, lease: Duration) -> Duration {
        let hold = lease
            .min(self.hold.expires_in(now))
            .max(now.until(self.leased))
            .max(Duration::from_millis(1));
        self.leased = now.after(hold);
        hold
    }

    /// Confirms the renewal `counter` to the callers that wait for it or for an earlier one.
    pub(super) fn refreshed(&mut self, counter: u64, wakes: &mut DeferredWakes) {
        for done in self
            .refreshers
            .extract_if(.., |asked| asked.counter <= counter)
        {
            let _ = done.promise.complete(Ok(()), wakes);
        }
    }

    /// Fails the callers that wait for a confirmation, because the hold has ended.
    pub(super) fn fail_refreshers(&mut self, wakes: &mut DeferredWakes) {
        for refresher in self.refreshers.drain(..) {
            let error = self.hold.lost_error();
            let _ = refresher.promise.complete(Err(error), wakes);
        }
    }
}
