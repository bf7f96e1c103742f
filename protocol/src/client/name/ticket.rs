//! [`Ticket`]: one ticket of this process. Its methods change its state and return the request to send; they do not
//! send it.
//!
//! ```text
//!            enters the queue        tries, adopts
//!                  │                      │  ▲ tries again, as a new ticket
//!                  ▼                      ▼  │
//!              Waiting               Attempting
//!                  │      granted         │
//!                  ├──────────┬───────────┤
//!                  │          ▼           │
//!                  │         Held ◄──┐ passed on, kept, entered again
//!                  │          │  └───┘    │
//!                  │ not      │ released, │ not
//!                  │ needed   │ lost      │ needed
//!                  ▼          ▼           ▼
//!                 Leaving, until the store has answered
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::call::{AskId, CallId, Caller};
use super::hold::Hold;
use super::input::{Effect, Failure};
use super::retain::Retention;
use super::send_log::SendLog;
use crate::{
    HolderRecord, Instant, Lease, Limits, Mode, Op, Retain, Share, SharedStr, StoreError,
    Ticket as TicketId, reply::calling,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket<C> {
    pub(super) log: SendLog,
    pub(super) lease: Duration,
    /// What its acquires say.
    pub(super) retain: Retain,
    /// When to send the next request without an event.
    pub(super) again: Instant,
    pub(super) trouble: Option<StoreError>,
    /// The counter and the token of the last grant that came as a message.
    pub(super) last_grant: (u64, u64),
    pub(super) pending: Vec<Pending>,
    pub(super) state: TicketState<C>,
}

/// A call that waits for the store's answer to a renewal or a release.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    /// For a renewal: the answer to this request or a later one confirms the hold.
    pub(super) counter: u64,
    pub(super) deadline: Instant,
    pub(super) ask: AskId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TicketState<C> {
    Waiting(Waiting),
    /// Takes the name only if it is free, and never waits in the store: `block = 0`, `try_lock`, `retries`, adoptions.
    Attempting(Attempting<C>),
    Held(Held<C>),
    Leaving(Leaving),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// `None` for a spare ticket, which only keeps the place of this process in the store's queue.
    pub(super) waiter: Option<CallId>,
    pub(super) share: Share,
    pub(super) meta: SharedStr,
    /// When this ticket, or the one that it replaces, was first asked for. Irrelevant once the ticket is `queued`.
    pub(super) unanswered_since: Instant,
    pub(super) queued: bool,
    /// From the last answer, like `place`.
    pub(super) holder: Option<HolderRecord>,
    pub(super) place: Option<u64>,
    /// How many grants had already ended when they arrived.
    pub(super) stale: u32,
    /// The number of calls that the store was told; zero if it must be told who waits.
    pub(super) told: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempting<C> {
    pub(super) caller: C,
    /// The other client's ticket whose hold is to be taken over.
    pub(super) adopts: Option<TicketId>,
    pub(super) number: u32,
    /// How often the store has answered that another client keeps the lock without using it.
    pub(super) recalls: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held<C> {
    pub(super) hold: Hold<C>,
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
    /// `None` if the lock can't be kept after the call.
    pub(super) retention: Option<Box<Retention>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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

impl<C: Caller> Ticket<C> {
    pub(super) fn new(id: TicketId, now: Instant, lease: Duration, state: TicketState<C>) -> Self {
        Self {
            log: SendLog::new(id, now),
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

    pub(super) fn attempting(&self) -> Option<&Attempting<C>> {
        match &self.state {
            TicketState::Attempting(attempt) => Some(attempt),
            _ => None,
        }
    }

    /// `None` if the client only keeps the lock.
    pub(super) fn held(&self) -> Option<&Held<C>> {
        match &self.state {
            TicketState::Held(held) => Some(held).filter(|held| !held.is_kept()),
            _ => None,
        }
    }

    pub(super) fn held_mut(&mut self) -> Option<&mut Held<C>> {
        match &mut self.state {
            TicketState::Held(held) => Some(held).filter(|held| !held.is_kept()),
            _ => None,
        }
    }

    pub(super) fn kept(&self) -> Option<&Held<C>> {
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
    pub(super) fn may_serve(&self, caller: &C) -> bool {
        let share = caller.want().share;
        let is_same = |waiting: &Waiting| waiting.share == share;
        self.waiting().is_some_and(is_same)
            && (share.excludes_all() || caller.call().started <= self.log.since)
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

    /// The request to send now. It may be executed twice without harm. `place` is the client's lease; `calls` is how
    /// many calls a waiting ticket stands for.
    #[inline]
    pub(super) fn request(
        &mut self,
        calls: usize,
        (now, place): (Instant, Duration),
        limits: &Limits,
        effects: &mut Vec<Effect<C>>,
    ) -> Op {
        let lease = |log: &mut SendLog, retain, hold| Lease {
            retain,
            ..log.lease(now, hold, place)
        };
        match &mut self.state {
            // An acquire of a ticket that waits also says who waits with it.
            TicketState::Waiting(waiting) if waiting.acquires(calls) => {
                waiting.told = calls;
                let retain = match waiting.queued {
                    true => Retain::No,
                    false => self.retain,
                };
                Op::Acquire {
                    lease: lease(&mut self.log, retain, self.lease),
                    share: waiting.share,
                    mode: Mode::Queue,
                    meta: calling(&waiting.meta, calls),
                }
            }
            TicketState::Waiting(_) => self.touch_waiting(now, place),
            TicketState::Attempting(attempt) => {
                let meta = attempt.caller.want().meta.clone();
                let lease = lease(&mut self.log, self.retain, self.lease);
                match attempt.adopts {
                    Some(old) => Op::Adopt { old, lease, meta },
                    None => Op::Acquire {
                        lease,
                        share: attempt.caller.want().share,
                        mode: Mode::Try,
                        meta,
                    },
                }
            }
            TicketState::Held(held) => held.touch(&mut self.log, (now, place), limits, effects),
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

    pub(super) fn touch_waiting(&mut self, now: Instant, place: Duration) -> Op {
        let lease = self.log.lease(now, self.lease, place);
        Op::Touch { lease, units: 0 }
    }

    /// Somebody waits for the answer to the last request.
    pub(super) fn expect(&mut self, ask: AskId, deadline: Instant) {
        self.pending.push(Pending {
            counter: u64::from(self.log.count()),
            deadline,
            ask,
        });
    }

    pub(super) fn confirm(
        &mut self,
        which: impl Fn(&Pending) -> bool,
        answer: impl Fn() -> Result<Option<u64>, Failure>,
        effects: &mut Vec<Effect<C>>,
    ) {
        for pending in self.pending.extract_if(.., |pending| which(pending)) {
            effects.push(Effect::Confirmed {
                ask: pending.ask,
                result: answer(),
            });
        }
    }

    pub(super) fn fail_renewals(&mut self, now: Instant, effects: &mut Vec<Effect<C>>) {
        if let TicketState::Held(held) = &self.state
            && !self.pending.is_empty()
        {
            let error = held.hold.lost(now);
            self.confirm(|_| true, || Err(error.clone()), effects);
        }
    }
}

impl<C: Caller> Held<C> {
    pub(super) fn next_lease(&mut self, now: Instant, lease: Duration) -> Duration {
        let hold = lease
            .min(self.hold.expires_in(now))
            .max(now.until(self.leased))
            .max(Duration::from_millis(1));
        self.leased = now.after(hold);
        hold
    }
}

impl Waiting {
    /// A place that somebody relies on is never asked for again: the store may have lost it, and signals with it.
    fn acquires(&self, calls: usize) -> bool {
        let is_told = self.queued && (calls == self.told || self.share.notifies());
        self.waiter.is_some() && !is_told
    }
}
