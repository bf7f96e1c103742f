//! [`Ticket`]: one ticket of this process. Its methods change its state and return the request to send; they neither
//! send it nor wake tasks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::hold::Hold;
use super::retain::Retention;
use super::send_log::SendLog;
use super::waiter::{Waiter, Want};
use crate::base::clock::Instant;
use crate::base::error::{LockError, StoreError};
use crate::base::wait::{DeferredWakes, Promise};
use crate::lease::Bound;
use crate::store::{HolderRecord, Lease, Limits, Mode, Op, Retain, Share, Ticket as TicketId};

#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) log: SendLog,
    pub(super) lease: Duration,
    /// What its acquires say.
    pub(super) retain: Retain,
    pub(super) again: Instant,
    pub(super) trouble: Option<StoreError>,
    /// The counter and the token of the last grant that came as a message.
    pub(super) last_grant: (u64, u64),
    pub(super) pending: Vec<Pending>,
    pub(super) state: TicketState,
}

/// A call that waits for the store's answer to a renewal or a release.
#[derive(Debug)]
pub(super) struct Pending {
    /// For a renewal: the answer to this request or a later one confirms the hold.
    pub(super) counter: u64,
    pub(super) deadline: Instant,
    pub(super) promise: Confirmed,
}

/// For a release: the number of units that are free, or `None` if the lock was lost before.
pub(crate) type Confirmed = Arc<Promise<Result<Option<u64>, LockError>>>;

#[derive(Debug)]
pub(super) enum TicketState {
    Waiting(Waiting),
    /// Takes the name only if it is free, and never waits in the store: `block = 0`, `try_lock`, `retries`, adoptions.
    Attempting(Attempting),
    Held(Held),
    Leaving(Leaving),
}

#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` for a spare ticket, which only keeps the place of this process in the store's queue.
    pub(super) waiter: Option<Arc<Waiter>>,
    pub(super) share: Share,
    /// When this ticket, or the one that it replaces, was first asked for. Irrelevant once the ticket is `queued`.
    pub(super) unanswered_since: Instant,
    pub(super) queued: bool,
    /// From the last answer, like `place`.
    pub(super) holder: Option<HolderRecord>,
    pub(super) place: Option<u64>,
    /// How many grants had already ended when they arrived.
    pub(super) stale: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Attempting {
    pub(super) waiter: Arc<Waiter>,
    /// The other client's ticket whose hold is to be taken over.
    pub(super) adopts: Option<TicketId>,
    pub(super) number: u32,
    /// How often the store has answered that another client keeps the lock without using it.
    pub(super) recalls: u32,
}

#[derive(Debug)]
pub(super) struct Held {
    pub(super) hold: Arc<Hold>,
    /// The last request that the store had executed when it granted. Answers to earlier requests are older than the
    /// grant.
    pub(super) granted: u64,
    pub(super) since: Instant,
    /// The last token that the store gave to the ticket.
    pub(super) base: u64,
    /// The latest end of all leases asked for. No later request asks for an earlier end, because answers in flight and
    /// the next local holder rely on this one.
    pub(super) leased: Instant,
    /// The number of local handoffs.
    pub(super) handed: u32,
    /// The store reported that `force_unlock` took the lock away; the answer to the next renewal decides.
    pub(super) forced: bool,
    /// Bounds of nested calls whose end a listener waits for.
    pub(super) bounds: Vec<Weak<Bound>>,
    /// `None` if the lock can't be kept after the call.
    pub(super) retention: Option<Box<Retention>>,
}

#[derive(Debug, Default)]
pub(super) struct Leaving {
    pub(super) park_until: Instant,
    pub(super) used: Option<u64>,
    pub(super) held: bool,
    /// Whether the store may have executed a release that it didn't answer.
    pub(super) unanswered: bool,
    /// When the store drops the ticket even without a release.
    pub(super) over: Instant,
    pub(super) sent: Instant,
}

pub(super) struct Granted {
    /// The store's time in microseconds, without the number of a local handoff.
    pub(super) token: u64,
    /// The last request that the store had executed when it granted.
    pub(super) counter: u64,
    /// Until when the grant is provably valid.
    pub(super) valid: Instant,
    /// The grant came as a message and must be claimed.
    pub(super) provisional: bool,
    pub(super) lease: Duration,
    pub(super) signal: Option<Arc<str>>,
    /// The store knows that the lock may be kept.
    pub(super) retains: bool,
}

impl Ticket {
    pub(super) fn new(now: Instant, lease: Duration, state: TicketState) -> Self {
        Self {
            log: SendLog::new(now),
            lease,
            retain: Retain::No,
            again: Instant::NEVER,
            trouble: None,
            last_grant: (0, 0),
            pending: Vec::new(),
            state,
        }
    }

    /// `lease` is that of the request that the store has granted.
    pub(super) fn granted(&self, lease: Lease, token: u64, signal: Option<Arc<str>>) -> Granted {
        Granted {
            token,
            counter: lease.counter,
            valid: (self.log).validity(lease.counter, lease.hold.min(self.lease)),
            provisional: false,
            lease: lease.hold,
            signal,
            retains: lease.retain == Retain::InUse,
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

    pub(super) fn is_queued(&self) -> bool {
        self.waiting().is_some_and(|waiting| waiting.queued)
    }

    /// The request of the call that this ticket was made for, unless it adopts a hold.
    pub(super) fn want(&self) -> Option<&Want> {
        match &self.state {
            TicketState::Waiting(waiting) => waiting.waiter.as_ref().map(|waiter| &waiter.want),
            TicketState::Attempting(Attempting {
                adopts: None,
                waiter,
                ..
            }) => Some(&waiter.want),
            _ => None,
        }
    }

    pub(super) fn attempting(&self) -> Option<&Attempting> {
        match &self.state {
            TicketState::Attempting(attempt) => Some(attempt),
            _ => None,
        }
    }

    /// `None` if the client only keeps the lock.
    pub(super) fn held(&self) -> Option<&Held> {
        match &self.state {
            TicketState::Held(held) => Some(held).filter(|held| !held.is_kept()),
            _ => None,
        }
    }

    pub(super) fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.state {
            TicketState::Held(held) => Some(held).filter(|held| !held.is_kept()),
            _ => None,
        }
    }

    pub(super) fn kept(&self) -> Option<&Held> {
        match &self.state {
            TicketState::Held(held) => Some(held).filter(|held| held.is_kept()),
            _ => None,
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept().is_some()
    }

    /// The store may already have granted this ticket, and then other tickets with greater tokens. A waiter that came
    /// after this ticket was made must not get the smaller token.
    pub(super) fn may_serve(&self, waiter: &Waiter) -> bool {
        let share = &waiter.want.share;
        let is_same = |waiting: &Waiting| waiting.share == *share;
        self.waiting().is_some_and(is_same)
            && (share.excludes_all() || waiter.started <= self.log.since)
    }

    /// Whether no request was sent yet, so that the store cannot know the ticket. Only attempts rest, until `again`.
    pub(super) fn is_resting(&self) -> bool {
        self.log.count() == 0
    }

    /// The order of resending after a reconnect: waiting tickets first, in the order of their waiters.
    pub(super) fn rank(&self) -> u8 {
        match self.state {
            TicketState::Waiting(_) => 0,
            TicketState::Attempting(_) => 1,
            TicketState::Held(_) => 2,
            TicketState::Leaving(_) => 3,
        }
    }

    /// The request to send now. It may be executed twice without harm. `place` is the client's lease.
    pub(super) fn request(&mut self, now: Instant, place: Duration, limits: &Limits) -> Op {
        match &mut self.state {
            TicketState::Waiting(Waiting {
                waiter: Some(waiter),
                queued: false,
                share,
                ..
            }) => Op::Acquire {
                lease: Lease {
                    retain: self.retain,
                    ..self.log.lease(now, self.lease, place)
                },
                share: *share,
                mode: Mode::Queue,
                meta: waiter.want.meta.clone(),
            },
            TicketState::Waiting(_) => self.touch_waiting(now, place),
            TicketState::Attempting(attempt) => {
                let want = &attempt.waiter.want;
                let meta = want.meta.clone();
                let lease = Lease {
                    retain: self.retain,
                    ..self.log.lease(now, self.lease, place)
                };
                match attempt.adopts {
                    Some(old) => Op::Adopt { old, lease, meta },
                    None => Op::Acquire {
                        lease,
                        share: want.share,
                        mode: Mode::Try,
                        meta,
                    },
                }
            }
            TicketState::Held(held) => held.touch(&mut self.log, now, place, limits),
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

    pub(super) fn promise(&mut self, deadline: Instant) -> Confirmed {
        let promise = Arc::new(Promise::new());
        self.pending.push(Pending {
            counter: u64::from(self.log.count()),
            deadline,
            promise: promise.clone(),
        });
        promise
    }

    pub(super) fn answer(
        &mut self,
        which: impl Fn(&Pending) -> bool,
        answer: impl Fn() -> Result<Option<u64>, LockError>,
        wakes: &mut DeferredWakes,
    ) {
        for pending in self.pending.extract_if(.., |pending| which(pending)) {
            let _ = pending.promise.complete(answer(), wakes);
        }
    }

    pub(super) fn fail_renewals(&mut self, wakes: &mut DeferredWakes) {
        if let TicketState::Held(held) = &self.state
            && !self.pending.is_empty()
        {
            let error = held.hold.lost_error();
            self.answer(|_| true, || Err(error.clone()), wakes);
        }
    }

    pub(super) fn touch_waiting(&mut self, now: Instant, place: Duration) -> Op {
        let lease = self.log.lease(now, self.lease, place);
        Op::Touch { lease, units: 0 }
    }
}

impl Held {
    pub(super) fn next_lease(&mut self, now: Instant, lease: Duration) -> Duration {
        let hold = lease
            .min(self.hold.expires_in(now))
            .max(now.until(self.leased))
            .max(Duration::from_millis(1));
        self.leased = now.after(hold);
        hold
    }
}
