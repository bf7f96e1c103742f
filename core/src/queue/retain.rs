//! Retention: after a call, the client keeps the lock for a while if nobody asks for it, and the next call enters
//! without a request to the store. `docs/protocol.md` has the rules.

use std::sync::Arc;
use std::time::Duration;

use super::grant::{Grant, Via};
use super::hold::Hold;
use super::lock_queue::{LockQueue, State, Transition};
use super::send_log::SendLog;
use super::ticket::{Held, Pending, Ticket, TicketState};
use super::waiter::Want;
use crate::base::clock::Instant;
use crate::store::{Lease, Limits, Op, Retain, TOKENS_OF_A_GRANT};

/// The most names that a client keeps.
const MOST: usize = 1024;

/// What a held ticket needs to be kept after the call.
#[derive(Debug)]
pub(super) struct Retention {
    /// Until when the ticket is kept, if no call is inside.
    until: Option<Instant>,
    /// What the store knows.
    told: Retain,
    /// Another client waits.
    recalled: bool,
    /// When to renew the short lease.
    renew: Instant,
    /// The last fencing token that was used before the store gave the current range of tokens.
    from: u64,
    /// Whether a request for more tokens has no answer yet.
    asked: bool,
    /// Counts the name as one that the client keeps.
    counted: Option<Arc<()>>,
}

impl Retention {
    /// For a grant with the fencing token `from`.
    pub(super) fn new(from: u64, renew: Instant) -> Box<Self> {
        Box::new(Self {
            until: None,
            told: Retain::InUse,
            recalled: false,
            renew,
            from,
            asked: false,
            counted: None,
        })
    }

    /// The store has answered with a new token for the ticket, whose last fencing token is `last`.
    pub(super) fn extend(&mut self, last: u64) {
        self.from = last;
        self.asked = false;
    }
}

/// When other clients asked for a name.
#[derive(Debug, Default)]
pub(super) struct Contention {
    /// Until when the name is not kept.
    until: Instant,
    last_recall: Instant,
    pause: Duration,
}

impl Contention {
    fn recalled(&mut self, now: Instant, limits: &Limits) {
        let twice = self.last_recall > Instant::START
            && now < self.last_recall.after(limits.recalled_twice);
        let was_quiet = self.until.after(self.pause) <= now;
        self.last_recall = now;
        self.until = self.until.max(now.after(limits.contended));
        if twice {
            self.pause = match was_quiet {
                true => limits.pause,
                false => (self.pause * 2).clamp(limits.pause, limits.longest_pause),
            };
            self.until = now.after(self.pause);
        }
    }

    /// Until when the name must be remembered although it is idle.
    pub(super) fn remembered(&self, limits: &Limits) -> Instant {
        match self.last_recall {
            Instant::START => Instant::START,
            last => last
                .after(limits.recalled_twice)
                .max(self.until.after(self.pause)),
        }
    }
}

/// The last fencing token that belongs to a ticket whose latest token in the store is `base`.
fn last_token(base: u64) -> u64 {
    (base + 1).saturating_mul(TOKENS_OF_A_GRANT) - 1
}

/// Whether the lock of `want` can be kept.
fn may_keep(want: &Want) -> bool {
    let share = &want.share;
    !want.terms.retain.is_zero() && want.owner.is_none() && share.excludes_all() && !want.relies
}

impl LockQueue {
    /// Releases the lock if it is kept.
    pub(super) fn release_kept(self: &Arc<Self>) {
        self.step(|step| step.release_kept());
    }
}

impl State {
    fn kept(&self) -> Option<usize> {
        self.tickets.iter().position(Ticket::is_kept)
    }
}

impl Transition<'_> {
    /// Whether a request for `want` asks the store for a lock that can be kept.
    pub(super) fn may_retain(&self, want: &Want) -> bool {
        may_keep(want) && self.queue.core.may_keep() && self.state.contention.until <= self.now
    }

    pub(super) fn release_kept(&mut self) {
        if let Some(index) = self.state.kept() {
            self.withdraw(index);
        }
    }

    /// Another client holds the lock, or waits for it.
    pub(super) fn note_contention(&mut self) {
        let contention = &mut self.state.contention;
        contention.until = contention.until.max(self.now.after(self.limits.contended));
    }

    /// Keeps the lock, whose hold has just been released, if nobody asks for it. An awaited release is answered when the
    /// store knows that no call is inside: then other clients get the lock.
    pub(super) fn keep(&mut self, index: usize, pending: &mut Option<Pending>) -> bool {
        let (now, queue, limits) = (self.now, self.queue, self.limits);
        let is_unwanted = self.is_unwanted() && self.state.waiters.is_empty();
        let ticket = &mut self.state.tickets[index];
        let Some(held) = ticket
            .held_mut()
            .filter(|held| is_unwanted && held.may_be_kept(now, limits))
        else {
            return false;
        };
        let (hold, until) = (&held.hold, now.after(held.hold.want().terms.retain));
        let Some(retention) = &mut held.retention else {
            return false;
        };
        let names = &queue.core.kept;
        if retention.counted.is_none() && Arc::strong_count(names) > MOST {
            return false;
        }
        retention.counted.get_or_insert_with(|| names.clone());
        retention.until = Some(until);
        held.bounds.clear();
        let (token, free) = (hold.grant.token, u64::from(hold.want().share.capacity));
        let few = last_token(held.base) - token < token - retention.from && !retention.asked;
        let untold = retention.told != Retain::Kept && pending.is_some();
        let tells = few || untold || now.after(limits.claim.min(queue.lease())) < held.leased;
        let tell = match retention.told {
            Retain::Kept => Instant::NEVER,
            _ => now.after(limits.tell),
        };
        ticket.again = retention.renew.min(tell).min(until);
        // A spare ticket would count as a waiter.
        self.withdraw_waiting();
        if tells {
            self.send(index);
        }
        if let Some(mut pending) = pending.take() {
            let ticket = &mut self.state.tickets[index];
            pending.counter = u64::from(ticket.log.count());
            ticket.pending.push(pending);
            if !untold {
                ticket.answer(|_| true, || Ok(Some(free)), self.wakes);
            }
        }
        true
    }

    /// Whether no call of this process polls for the lock, and the store and the client work as usual.
    fn is_unwanted(&self) -> bool {
        let (core, name) = (&self.queue.core, &self.queue.name);
        let mut tickets = self.state.tickets.iter();
        !tickets.any(|ticket| ticket.attempting().is_some())
            && core.may_keep()
            && core.outage(name).is_none()
            && core.closed(name).is_none()
    }

    /// Enters with the kept ticket, or releases it if this call can't use it.
    #[inline]
    pub(super) fn enter_kept(&mut self, want: &Want) -> Option<Arc<Hold>> {
        let index = self.state.kept()?;
        let (now, limits, is_unwanted) = (self.now, self.limits, self.is_unwanted());
        let ticket = &mut self.state.tickets[index];
        if let TicketState::Held(held) = &mut ticket.state
            && is_unwanted
            && held.serves(want, now, limits)
            && let Some(retention) = &mut held.retention
        {
            let valid = held.hold.valid();
            let grant = Grant {
                ticket: ticket.log.id,
                token: held.hold.grant.token + 1,
                valid,
                whole: false,
                attempts: want.attempts.saturating_add(1),
                via: Via::Kept,
                signal: None,
                behind: None,
            };
            Hold::again(&mut held.hold, want, grant, now);
            (held.since, held.handed) = (now, 0);
            retention.until = None;
            ticket.again = retention
                .renew
                .min(now.after(limits.tell.min(now.until(valid) / 4)));
            let hold = held.hold.clone();
            // No unit is free, because this call has all of them.
            ticket.answer(|_| true, || Ok(Some(0)), self.wakes);
            return Some(hold);
        }
        self.withdraw(index);
        None
    }

    /// Tells the store that the ticket is held like any other, with the full lease, before the process leaves it to another.
    pub(super) fn end_retention(&mut self, index: usize) {
        let held = self.state.tickets[index].held_mut();
        if let Some(retention) = held.and_then(|held| held.retention.as_mut()) {
            retention.recalled = true;
        }
        self.send(index);
    }

    pub(super) fn due_kept(&mut self, index: usize) {
        let (now, limits, is_unwanted) = (self.now, self.limits, self.is_unwanted());
        let ticket = &self.state.tickets[index];
        if !is_unwanted || !ticket.kept().is_some_and(|held| held.stays(now, limits)) {
            self.withdraw(index);
        } else if ticket.again <= now {
            self.send(index);
        }
    }

    /// Another client waits for the lock.
    pub(super) fn recalled(&mut self, index: usize) {
        let ticket = &mut self.state.tickets[index];
        if ticket.is_kept() {
            self.state.contention.recalled(self.now, self.limits);
            self.withdraw(index);
        } else if let Some(retention) = ticket.held_mut().and_then(|held| held.retention.as_mut())
            && !retention.recalled
        {
            retention.recalled = true;
            self.state.contention.recalled(self.now, self.limits);
            self.send(index);
        }
    }

    /// Before a question about the name: the store must know whether a call is inside.
    pub(super) fn tell_use(&mut self) {
        for index in 0..self.state.tickets.len() {
            if let TicketState::Held(held) = &self.state.tickets[index].state
                && let Some(retention) = &held.retention
                && (retention.told == Retain::Kept) != held.is_kept()
            {
                self.send(index);
            }
        }
    }
}

impl Held {
    pub(super) fn is_kept(&self) -> bool {
        let retention = self.retention.as_ref();
        retention.is_some_and(|retention| retention.until.is_some())
    }

    /// The token after `last`, if it belongs to the ticket.
    pub(super) fn token_after(&self, last: u64) -> Option<u64> {
        (last < last_token(self.base)).then_some(last + 1)
    }

    fn may_be_kept(&self, now: Instant, limits: &Limits) -> bool {
        let (hold, retention) = (&self.hold, self.retention.as_ref());
        hold.given_back().is_none()
            && hold.grant.signal.is_none()
            && now.after(limits.least_left) < hold.valid()
            && !hold.want().terms.retain.is_zero()
            && retention.is_some_and(|retention| !retention.recalled)
    }

    /// Whether a call for `want` may enter.
    fn serves(&self, want: &Want, now: Instant, limits: &Limits) -> bool {
        let last = self.hold.want();
        may_keep(want)
            && last.share == want.share
            && last.meta == want.meta
            && now.after(limits.least_left) < self.hold.valid()
            && self.token_after(self.hold.grant.token).is_some()
    }

    /// Whether a kept lock stays with the client.
    fn stays(&self, now: Instant, limits: &Limits) -> bool {
        let until = self
            .retention
            .as_ref()
            .and_then(|retention| retention.until);
        until.is_some_and(|until| now < until) && now.after(limits.least_left) < self.hold.valid()
    }

    /// The next touch of a kept ticket.
    pub(super) fn kept_again(&self) -> Option<Instant> {
        let retention = self.retention.as_ref()?;
        Some(retention.renew.min(retention.until?))
    }

    /// Renews the lease: the full one while a call is inside, else the short one.
    pub(super) fn touch(
        &mut self,
        log: &mut SendLog,
        now: Instant,
        place: Duration,
        limits: &Limits,
    ) -> Op {
        let (units, kept) = (self.hold.given_back().unwrap_or(0), self.is_kept());
        // A dead keeper costs a waiter no more.
        let short = limits.claim.min(place);
        let hold = match kept {
            true => short,
            false => self.next_lease(now, place),
        };
        let lease = log.lease(now, hold, place);
        let Some(retention) = &mut self.retention else {
            return Op::Touch { lease, units };
        };
        if kept {
            if now.after(short) < self.leased {
                // The store ends the longer lease when it reads this request. Answers to earlier ones extend nothing.
                self.hold.cut(now.validity(short));
                log.executed(lease.counter);
            }
            self.leased = now.after(short);
            retention.asked = true;
            retention.renew = now.next_multiple(short / 4);
        }
        retention.told = match (kept, retention.recalled) {
            (true, _) => Retain::Kept,
            (_, true) => Retain::No,
            _ => Retain::InUse,
        };
        let retain = retention.told;
        let lease = Lease { retain, ..lease };
        Op::Touch { lease, units }
    }
}
